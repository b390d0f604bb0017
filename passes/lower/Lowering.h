//===- Lowering.h - From local ops to calls on buffers --------------------===//
//
// An op's lowering (LowerableOp, declared with the op, defined in ops/) reads
// the views of its operands, and binds a view to each of its results: a window on an operand's bytes where the op only arranges
// them differently, else a new buffer that a kernel call writes.
//
//   %1 = onnx.Transpose %0 {perm = [1, 0]}   %0's buffer, strides swapped
//   %2 = onnx.MatMul %1, %w                  rt.alloc, and
//                                            rt.call "MatMul"
//
// What depends on weights alone is emitted before rt.ready and runs once.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_LOWER_LOWERING_H
#define SHARDC_PASSES_LOWER_LOWERING_H

#include "dialects/onnx/Onnx.h"
#include "dialects/rt/Rt.h"
#include "passes/lower/Caches.h"
#include "passes/lower/StridedLayout.h"

#include "llvm/ADT/StringSet.h"

namespace shardc::lower {

/// Where a value is.
struct ValueView {
  mlir::Value buffer; ///< null: absent operand
  mlir::Type element;
  StridedLayout layout;
  bool isLoadTime = false;   ///< depends on weights alone
  bool isReplicated = false; ///< the same bits on every rank

  bool isAbsent() const { return !buffer; }
  ValueView with(StridedLayout other) const {
    ValueView view = *this;
    view.layout = std::move(other);
    return view;
  }
};

class Lowering {
public:
  /// How a program is lowered, for the host or another target; in order: what
  /// adds up rows finds them as they lie in any plan.
  struct Form {
    bool isForHost;
    bool isInOrder;
  };

  Lowering(rt::ProgramOp program, const dist::Mesh &mesh, Form form);

  llvm::LogicalResult lower(mlir::Operation *op);
  /// All of a body but what it yields.
  llvm::LogicalResult lowerBody(mlir::Block &body);

  const dist::Mesh &mesh;
  const bool isForHost, isInOrder;

  //===--- Values ---------------------------------------------------------===//

  ValueView view(mlir::Value value) const;
  void bind(mlir::Value value, ValueView view);
  /// A result that is a window on `view`; takes element and flags from the
  /// type.
  void bindWindow(mlir::Value result, const ValueView &view,
                  StridedLayout layout);
  /// Sizes on this rank.
  static Sizes localDims(mlir::Value value);
  static dist::ValueAttr encodingOf(mlir::Type type);

  /// New buffer for a result, bound to it; contiguous unless it is a cache.
  ValueView allocate(mlir::Operation *op, mlir::Value result);
  /// The same, never at load time: for what is too big to be kept.
  ValueView allocateAtRun(mlir::Operation *op, mlir::Value result);
  /// The same for a temporary, which every rank has alike.
  ValueView allocateAtRun(mlir::Operation *op, mlir::Type element, Sizes dims);
  /// A small tensor that every rank holds.
  ValueView constant(mlir::Operation *op, mlir::DenseElementsAttr elements);
  /// The result of `op` is present of this cache.
  void addCache(mlir::Operation *op, Cache cache) { caches[op] = cache; }
  /// Along the dim that grows with room for a state's capacity.
  static StridedLayout cacheLayout(const Sizes &dims, const Cache &cache);
  /// New memory of the cache, for present.
  ValueView allocateCache(mlir::Location loc, mlir::Value present,
                          const Cache &cache);
  void addCacheOp(mlir::Location loc, mlir::Value buffer, const Cache &cache);
  /// New contiguous buffer for a temporary of `op`.
  ValueView allocate(mlir::Operation *op, mlir::Type element, Sizes dims,
                     bool isReplicated);
  /// The value without gaps: itself, or a copy.
  ValueView contiguous(mlir::Operation *op, const ValueView &view);
  /// What an op adds up: a window on another value, which with another plan would
  /// be a value of its own, is one, where the order of sums must be the same.
  ValueView summands(mlir::Operation *op, mlir::Value operand);

  //===--- Instructions ---------------------------------------------------===//

  using Config = llvm::SmallVector<mlir::NamedAttribute, 4>;
  /// Emits rt.call at load time if everything it reads is, else at run time.
  void call(mlir::Operation *op, llvm::StringRef kernel,
            llvm::ArrayRef<ValueView> inputs, llvm::ArrayRef<ValueView> outputs,
            Config config = {});
  void copy(mlir::Operation *op, const ValueView &from, const ValueView &to) {
    call(op, "Copy", {from}, {to});
  }
  /// `choices`: of dispatch and combine.
  rt::CollectiveOp collective(mlir::Operation *op, llvm::StringRef kernel,
                              const ValueView &input, const ValueView &output,
                              dist::AxesAttr axes,
                              const ValueView *choices = nullptr);
  /// Emit rt.send and rt.receive, always at run time.
  void send(mlir::Operation *op, const ValueView &view, mlir::IntegerAttr stage,
            mlir::IntegerAttr transfer);
  void receive(mlir::Operation *op, const ValueView &view,
               mlir::IntegerAttr stage, mlir::IntegerAttr transfer);
  /// Emits rt.read_sizes, always at run time.
  void readSizes(mlir::Operation *op, const ValueView &view,
                 dist::DimsAttr sizes);

  //===--- Control flow ---------------------------------------------------===//

  template <typename BracketOp>
  void begin(mlir::Operation *op, const ValueView &condition) {
    mlir::Value view = viewOp(condition, atRun(), op->getLoc());
    BracketOp::create(atRun(), op->getLoc(), view);
    ++depth;
  }
  void end(mlir::Operation *op);
  /// Emits rt.set_sizes.
  void setSizes(mlir::Operation *op, llvm::ArrayRef<dist::DimExpr> symbols,
                llvm::ArrayRef<dist::DimExpr> values);
  /// What must hold when the program gets there.
  void guard(mlir::Operation *op, dist::DimExpr lhs, llvm::StringRef kind,
             dist::DimExpr rhs, llvm::StringRef message);
  /// Symbols that an input or an earlier op gives a value.
  bool isBound(llvm::StringRef symbol) const { return bound.contains(symbol); }
  void bindSymbols(llvm::ArrayRef<dist::DimExpr> sizes);
  /// Of this program alone, named for messages.
  dist::DimExpr newSymbol(mlir::Operation *op, const llvm::Twine &what);

  /// Attributes of `op` by those names, where it has them.
  static Config attributes(mlir::Operation *op,
                           llvm::ArrayRef<llvm::StringRef> names);
  /// The same, and for a kernel that adds up whether the order must not depend on
  /// other rows and columns: `in_order`.
  Config order(mlir::Operation *op, llvm::ArrayRef<llvm::StringRef> names = {});
  mlir::NamedAttribute scalars(llvm::StringRef name,
                               llvm::ArrayRef<dist::DimExpr> values);
  mlir::NamedAttribute ints(llvm::StringRef name,
                            llvm::ArrayRef<int64_t> values);

  mlir::OpBuilder &atRun();
  mlir::OpBuilder &atLoad();

  /// Adds rt.free after the last use of each arena buffer.
  void freeBuffers();

private:
  bool dependsOnInputs(llvm::ArrayRef<dist::DimExpr> sizes) const;
  mlir::Value viewOp(const ValueView &view, mlir::OpBuilder &builder,
                     mlir::Location loc);
  ValueView allocateAt(mlir::Location loc, mlir::Type element, Sizes dims,
                       bool isLoadTime, bool isReplicated);

  rt::ProgramOp program;
  mlir::OpBuilder builder;
  rt::ReadyOp ready;

  llvm::DenseMap<mlir::Value, ValueView> values;
  llvm::DenseMap<mlir::Operation *, Cache> caches;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> viewOps;
  mlir::Value absent;
  llvm::StringSet<> bound;
  unsigned depth = 0; ///< of brackets
  unsigned numSymbols = 0;
};

} // namespace shardc::lower

#endif // SHARDC_PASSES_LOWER_LOWERING_H
