//===- LoweredProgram.h - Who wrote what a view shows ---------------------===//
//
// An element that an instruction reads is at an address of a buffer; who wrote
// that address last, before the instruction, made it. Copies are looked
// through:
//
//   rt.call "MatMul"(%x, %w) into(%a)          element [2, 5] of %b is number
//   rt.call "Copy"(%a) into(%b columns 4 up)   [2, 1] of what MatMul made
//
// A call that stands for several is seen as those (dialects/rt/Provenance.h).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_VERIFY_LOWERED_LOWEREDPROGRAM_H
#define SHARDC_PASSES_VERIFY_LOWERED_LOWEREDPROGRAM_H

#include "dialects/rt/Provenance.h"
#include "dialects/rt/Rt.h"
#include "passes/verify/lowered/Point.h"

namespace shardc::verify {

/// Which branches were taken of conditions that the data decide; of an rt.loop,
/// that it is an iteration that is looked at.
using Branches = llvm::SmallVector<std::pair<mlir::Operation *, bool>, 2>;

struct LoweredElement {
  enum class Kind {
    Source,  ///< an element of what `op`, an input, weight or constant, holds
    Made,    ///< of an output of `op`, an instruction
    Decided, ///< by `op`, an rt.if whose branch is not known
    Looped,  ///< by iterations of the rt.loop `op`, maybe none
    Nothing  ///< nobody wrote it
  };
  Kind kind = Kind::Nothing;
  mlir::Operation *op = nullptr;
  int member = -1; ///< of a call that stands for several
  unsigned output = 0;
  Index index;
  mlir::Value view = {}; ///< of other kinds: where copies ended, ...
  unsigned time = 0;     ///< ... and when it was read there

  bool isSame(const LoweredElement &other) const {
    return kind == other.kind && op == other.op && member == other.member &&
           output == other.output && index == other.index;
  }
};

/// What a body of control flow says of a size: an rt.set_sizes that binds a
/// symbol, or else a guard that the size is equal to the value.
struct BodySize {
  mlir::Operation *op = nullptr;
  dist::DimExpr value;
};
/// A view with numbers.
struct Window {
  Index dims, strides;
  int64_t offset = 0;
  unsigned bits = 0; ///< of an element

  int64_t address(llvm::ArrayRef<int64_t> index) const;
  /// Nothing where no element is there.
  std::optional<Index> find(int64_t address) const;
};

class LoweredProgram {
public:
  explicit LoweredProgram(rt::ProgramOp program);

  unsigned timeOf(mlir::Operation *op) const { return times.lookup(op); }
  llvm::ArrayRef<mlir::Operation *> operations() const { return order; }
  const std::optional<rt::Members> &membersOf(rt::CallOp call) const;

  struct Writer {
    mlir::Operation *op;
    unsigned output;
    mlir::Value view;
    unsigned time;
  };
  llvm::ArrayRef<Writer> writersOf(mlir::Value buffer) const;
  /// The brackets around an op, innermost first, with the branch it is in.
  Branches around(mlir::Operation *op) const;
  /// What says a size from `first` to before `last`, or to the end where that
  /// is null; no op where nothing does, or two bind it.
  BodySize sizeBetween(mlir::Operation *first, mlir::Operation *last,
                       dist::DimExpr size) const;
  /// The rt.end of an rt.if or rt.loop.
  mlir::Operation *endOf(mlir::Operation *bracket) const {
    return ends.lookup(bracket);
  }

private:
  void addWriter(mlir::Operation &op, mlir::ValueRange views);
  void addSizes(mlir::Operation &op);

  std::vector<mlir::Operation *> order;
  llvm::DenseMap<mlir::Operation *, unsigned> times;
  llvm::DenseMap<mlir::Value, std::vector<Writer>> writers;
  /// The innermost rt.if, rt.loop, and whether the op is before the rt.else.
  llvm::DenseMap<mlir::Operation *, std::pair<mlir::Operation *, bool>>
      enclosing;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> ends;
  /// All that says a size, in order: whoever looks for one passes no others.
  llvm::DenseMap<const void *, std::vector<BodySize>> sizes;
  mutable llvm::DenseMap<mlir::Operation *, std::optional<rt::Members>> members;
};

/// A program at a point.
class LoweredState {
public:
  LoweredState(const LoweredProgram &program, const Point &point)
      : program(program), point(point) {}

  /// Null where a size has no number.
  const Window *windowOf(mlir::Value view);
  /// What the view shows there before instruction number `time`.
  LoweredElement read(mlir::Value view, Index index, unsigned time,
                      const Branches &branches);
  /// Elements of a view, by their index, that are first or last of what one of
  /// the writers of its buffer wrote.
  std::vector<Index> seamsOf(mlir::Value view, unsigned time);

  const LoweredProgram &program;
  const Point &point;

private:
  /// The innermost loop an iteration of which reads, at `time`, what an earlier
  /// one may have written.
  mlir::Operation *loopThatCarries(mlir::Value buffer, int64_t address,
                                   unsigned written, unsigned time,
                                   const Branches &branches);
  std::optional<LoweredElement> sourceElement(mlir::Value buffer,
                                              int64_t address);
  std::optional<Index> joinedDims(rt::JoinOp join);

  llvm::DenseMap<mlir::Value, std::unique_ptr<Window>> windows;
};

} // namespace shardc::verify

#endif // SHARDC_PASSES_VERIFY_LOWERED_LOWEREDPROGRAM_H
