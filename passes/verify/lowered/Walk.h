//===- Walk.h - From elements back to those they are made of --------------===//
#ifndef SHARDC_PASSES_VERIFY_LOWERED_WALK_H
#define SHARDC_PASSES_VERIFY_LOWERED_WALK_H

#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/ControlFlow.h"
#include "dialects/onnx/ops/Dynamic.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/verify/lowered/CallForm.h"
#include "passes/verify/lowered/KernelBodies.h"
#include "passes/verify/lowered/LoweredProgram.h"

#include "llvm/ADT/TypeSwitch.h"

#include <set>

namespace shardc::verify {

/// A few elements of a value with these dims: its corners, and some between.
std::vector<Index> samplesOf(llvm::ArrayRef<int64_t> dims);

class Walk {
public:
  Walk(const LoweredProgram &program, const dist::Mesh &mesh,
       const llvm::StringMap<int64_t> &sizes, int64_t rank)
      : program(program), mesh(mesh), sizes(sizes), rank(rank) {}

  /// Elements of what `op` reads, and of the value that it should be.
  llvm::LogicalResult relateViews(mlir::Operation *op, mlir::Value view,
                                  mlir::Value value);
  /// Until nothing is left; then the kernels that were found on the way.
  llvm::LogicalResult run();
  /// Of which an instruction was found.
  bool hasCompared(mlir::Operation *op) const { return compared.contains(op); }

private:
  /// A program on a rank.
  struct Side {
    Side(const LoweredProgram &program, Point at)
        : point(std::move(at)), state(program, point), reference(point) {}
    Point point;
    LoweredState state;
    Reference reference;
  };
  Side &sideOf(int64_t rank);

  /// An element that an instruction made, and that of an op that it must be.
  struct Item {
    int64_t rank;
    LoweredElement made;
    ReferenceElement wanted;
    Branches branches;
  };

  llvm::LogicalResult relate(int64_t rank, mlir::Operation *reader,
                             const LoweredElement &made,
                             const ReferenceElement &wanted,
                             const Branches &branches);
  llvm::LogicalResult relateView(int64_t rank, mlir::Operation *reader,
                                 mlir::Value view, const Index &index,
                                 const ReferenceElement &wanted,
                                 const Branches &branches);
  /// `seen` by the instruction, all of the view.
  llvm::LogicalResult relateAll(int64_t rank, mlir::Operation *reader,
                                mlir::Value view, mlir::Value value,
                                const Branches &branches);

  llvm::LogicalResult relateSource(const LoweredElement &made,
                                   const ReferenceElement &wanted,
                                   mlir::Operation *reader);
  /// Either branch of an rt.if gives what that of the op yields.
  llvm::LogicalResult fork(onnx::IfOp op, const LoweredElement &made,
                           int64_t rank, mlir::Operation *reader,
                           mlir::Value view, const Index &index,
                           const ReferenceElement &wanted,
                           const Branches &branches);
  llvm::LogicalResult relateSized(const LoweredElement &made, bool isThen,
                                  int64_t rank, mlir::Operation *reader,
                                  const ReferenceElement &wanted,
                                  mlir::Value yielded, const Branches &taken);
  /// What iterations of an rt.loop leave at a place is what those of the op
  /// give: before the first, and after one that started with such.
  llvm::LogicalResult relateLooped(rt::LoopOp bracket, int64_t rank,
                                   mlir::Operation *reader, mlir::Value view,
                                   const Index &index,
                                   const ReferenceElement &wanted,
                                   const Branches &branches);
  /// The loop that made an element, maybe in a row that is not looked at.
  rt::LoopOp loopOver(const LoweredElement &made,
                      const Branches &branches) const;
  llvm::LogicalResult relateRow(onnx::LoopOp loop, rt::LoopOp bracket,
                                int64_t rank, mlir::Operation *reader,
                                mlir::Value view, const Index &index,
                                const ReferenceElement &wanted,
                                const Branches &inside);
  llvm::LogicalResult relateGoesOn(onnx::LoopOp loop, rt::LoopOp bracket,
                                   int64_t rank, const Branches &branches);
  llvm::LogicalResult relateGoesOnAt(mlir::Operation *reader, onnx::LoopOp loop,
                                     rt::LoopOp bracket, int64_t rank,
                                     mlir::Value condition,
                                     const Branches &branches);
  /// What a call, or a call that it stands for, reads of scalars.
  struct Scalar {
    rt::CallOp reader;
    mlir::Value view;       ///< null: another member makes it
    LoweredElement element; ///< ... this
  };
  /// The two operands of what made an element, if it is of this kernel.
  std::optional<std::pair<Scalar, Scalar>>
  operandsOf(const LoweredElement &made, llvm::StringRef kernel);
  LoweredElement read(const Scalar &scalar, int64_t rank,
                      const Branches &branches);
  llvm::LogicalResult relateScalar(const Scalar &scalar, int64_t rank,
                                   mlir::Value value, const Branches &branches);
  /// Whether a place holds 0 before the loop, and one more after each iteration.
  bool counts(int64_t rank, rt::LoopOp bracket, mlir::Value view,
              const Index &index, const Branches &before,
              const Branches &inside);
  llvm::LogicalResult process(const Item &item);
  llvm::LogicalResult processCall(const Item &item, rt::CallOp call);
  llvm::LogicalResult processCollective(const Item &item,
                                        rt::CollectiveOp made);
  llvm::LogicalResult processPart(const Item &item, rt::CollectiveOp made);
  llvm::LogicalResult processRing(const Item &item, rt::CallOp finish);
  llvm::LogicalResult relateTurn(const Item &item, dist::RingOp ring,
                                 llvm::ArrayRef<rt::CallOp> parts, size_t s,
                                 unsigned input);
  llvm::LogicalResult processRotary(const Item &item, rt::CallOp call);

  /// The kernel's member does what is wanted.
  void addBody(const Item &item, rt::CallOp call);

  /// A call, or one of those it stands for.
  struct Site {
    rt::CallOp call;
    CallText text;
    llvm::SmallVector<int64_t, 6> inputs; ///< numbers, see Provenance.h
  };
  Site siteOf(const Item &item, rt::CallOp call);
  llvm::LogicalResult relateInput(const Item &item, const Site &site,
                                  unsigned input, llvm::ArrayRef<int64_t> at,
                                  std::optional<ReferenceElement> wanted);
  /// What a member makes at `at`, by its number (Provenance.h).
  LoweredElement memberElement(rt::CallOp call, int64_t number,
                               llvm::ArrayRef<int64_t> at);
  llvm::LogicalResult relateInputs(const Item &item, const Site &site,
                                   const CallForm &form);
  llvm::LogicalResult relateRowAndColumn(const Item &item, const Site &site,
                                         const CallForm &form);
  const Index *inputDims(const Item &item, const Site &site, unsigned input);
  /// Whether the instruction's part of the op is looked at for the first time.
  bool isFirst(const Item &item);
  /// The dims of what made an element.
  std::optional<Index> dimsOf(int64_t rank, const LoweredElement &made);

  llvm::LogicalResult breach(mlir::Operation *reader,
                             const LoweredElement &made,
                             const ReferenceElement &wanted,
                             const llvm::Twine &why = "");

  /// Elements that are followed of an op that several instructions do.
  static constexpr unsigned kMostParts = 24;
  /// Ranks that are followed from one: each runs the whole program.
  static constexpr unsigned kMostRanks = 16;
  bool follow(int64_t other);

  const LoweredProgram &program;
  const dist::Mesh &mesh;
  const llvm::StringMap<int64_t> &sizes;
  const int64_t rank;
  std::map<int64_t, std::unique_ptr<Side>> sides;
  llvm::DenseSet<int64_t> ranks; ///< that are followed
  std::vector<Item> items;
  KernelBodies bodies;
  llvm::DenseSet<mlir::Operation *> compared;
  /// Places that loops leave something at, with what was wanted there.
  std::set<std::tuple<int64_t, mlir::Operation *, void *, Index, void *, Index,
                      Branches>>
      looped;
  using Place = std::tuple<int64_t, mlir::Operation *, int, unsigned, int64_t>;
  std::set<std::tuple<Place, void *, int64_t, Branches>> seen;
  /// How many elements of an instruction were followed, for an op.
  std::map<
      std::tuple<int64_t, mlir::Operation *, int, mlir::Operation *, Branches>,
      unsigned>
      followed;
};

} // namespace shardc::verify

#endif // SHARDC_PASSES_VERIFY_LOWERED_WALK_H
