//===- ShapeInference.h - Types and values known at compile time ----------===//
//
// Exporters compute reshape targets, masks and positions with chains of Shape,
// Gather, Concat, Mul, Slice. Shape inference evaluates them symbolically:
//
//   %0 = onnx.Shape(%x)                          [batch, seq]
//   %1 = onnx.Gather(%0, 1)                      seq
//   %2 = onnx.Concat(%1, [-1])                   [seq, -1]
//   onnx.Reshape(%x, %2)                         becomes
//   onnx.Reshape(%x) : ... -> tensor<seq x batch>
//
// Ops ask for known values of operands and record those of results. Where a
// fold needs more than symbols >= 0, it records an assumption, which becomes an
// onnx.Guard.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_SHAPEINFERENCE_H
#define SHARDC_DIALECTS_ONNX_SHAPEINFERENCE_H

#include "dialects/dist/Dist.h"
#include "dialects/onnx/KnownValue.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <memory>

namespace shardc::onnx {

class OnnxOp;

enum class GuardKind : uint8_t { Equal, AtLeast, AtMost };
llvm::StringRef stringify(GuardKind kind);

/// Something that holds on every run, because it is checked.
struct Assumption {
  GuardKind kind;
  dist::DimExpr lhs, rhs;
  std::string message;
  mlir::Location loc;
};

class ShapeInference {
public:
  ShapeInference(mlir::OpBuilder &builder, int64_t opset)
      : builder(builder), opset(opset) {}

  /// Values of more elements are not tracked.
  static constexpr int64_t kMaxKnownElements = 128;

  //===--- What operands are ----------------------------------------------===//

  static bool isPresent(mlir::Value value) {
    return value && !mlir::isa<mlir::NoneType>(value.getType());
  }
  static bool isPresent(mlir::Operation *op, unsigned index) {
    return index < op->getNumOperands() && isPresent(op->getOperand(index));
  }
  /// False for results before inference.
  static bool hasType(mlir::Value value) {
    return mlir::isa<mlir::RankedTensorType>(value.getType());
  }
  llvm::SmallVector<dist::DimExpr, 4> dims(mlir::Value value) const;
  int64_t rank(mlir::Value value) const {
    return mlir::cast<mlir::RankedTensorType>(value.getType()).getRank();
  }
  mlir::Type element(mlir::Value value) const {
    return mlir::cast<mlir::TensorType>(value.getType()).getElementType();
  }
  /// Null where the value is not known at compile time.
  const KnownValue *known(mlir::Value value) const;
  /// Known integers of operand `index`; nothing if absent or unknown.
  std::optional<llvm::SmallVector<dist::DimExpr, 4>>
  knownDims(mlir::Operation *op, unsigned index) const;
  std::optional<llvm::SmallVector<int64_t, 4>> knownInts(mlir::Operation *op,
                                                         unsigned index) const;
  /// As knownDims; integers that only the data knows are read on every run, and
  /// are symbols from there on (onnx.ReadSizes). Nothing if operand `index` is
  /// absent, or no small integer tensor.
  std::optional<llvm::SmallVector<dist::DimExpr, 4>>
  knownOrReadDims(mlir::Operation *op, unsigned index);
  /// A single integer, known or read; must be known or small.
  dist::DimExpr readSize(mlir::Value value);

  //===--- What results are -----------------------------------------------===//

  void setType(mlir::Value result, mlir::Type element,
               llvm::ArrayRef<dist::DimExpr> dims);
  /// Records a result's value and, from it, its type.
  void setKnown(mlir::Value result, KnownValue value);
  /// A result that has the elements of `from`, in the same order: known if they
  /// are.
  void keepKnown(mlir::Value from, mlir::Value result);
  /// Keeps the first `count` operands of `op`.
  void keepOperands(mlir::Operation *op, unsigned count);
  /// Drops absent operands at the end of the list.
  void dropAbsentTail(mlir::Operation *op);
  /// Result 0 of `op` is `value` from now on; `op` goes.
  void replace(mlir::Operation *op, mlir::Value value);
  void replaceResult(mlir::Operation *op, unsigned index, mlir::Value value);
  /// onnx.Reshape of `data` to these dims, just before `op`; `data` itself if
  /// it has them already. Known values follow. That it has as many elements, or
  /// sizes that broadcast to these, is assumed.
  mlir::Value reshape(mlir::Operation *op, mlir::Value data,
                      llvm::ArrayRef<dist::DimExpr> dims);
  /// The same for onnx.Expand, and onnx.Transpose.
  mlir::Value expand(mlir::Operation *op, mlir::Value data,
                     llvm::ArrayRef<dist::DimExpr> dims);
  mlir::Value transpose(mlir::Operation *op, mlir::Value data,
                        llvm::ArrayRef<int64_t> perm);
  /// onnx.Constant, or onnx.Symbols, just before `op`.
  mlir::Value constant(mlir::Operation *op, const KnownValue &value);

  /// A new op just before `op`, its types inferred; null after an error.
  template <typename OpTy>
  OpTy create(mlir::Operation *op, mlir::ValueRange operands,
              llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
              unsigned numResults = 1) {
    return mlir::cast_or_null<OpTy>(
        create(op, OpTy::getOperationName(), operands, attributes, numResults));
  }
  mlir::NamedAttribute attribute(llvm::StringRef name, int64_t value) const {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  }

  //===--- Blocks ---------------------------------------------------------===//

  /// Infers ops in order, or those of a block.
  llvm::LogicalResult inferOps(llvm::ArrayRef<mlir::Operation *> ops);
  llvm::LogicalResult inferBlock(mlir::Block &block);
  /// The same for the body of an op. It may not run, or run often: what is
  /// assumed or read in it holds in it alone, and is checked there. Its types
  /// are as simple as they get afterwards.
  llvm::LogicalResult inferBody(mlir::Region &body);
  /// The arguments of a body are these values.
  void bindArguments(llvm::ArrayRef<mlir::BlockArgument> arguments,
                     mlir::ValueRange values);
  /// Nobody will ask for the values of a body any more.
  void forget(mlir::Region &body);
  /// Writes expressions in place of the symbols that were found to equal them.
  void simplifyTypes(mlir::Operation &op);
  /// onnx.Guard for each assumption from number `first` on: at the block's
  /// start, or in a body where the last of its symbols is bound. Ops of the
  /// block bind the symbols `bound`.
  void insertGuards(mlir::Block &block, size_t first = 0,
                    const llvm::StringSet<> &bound = {});
  /// A new symbol for what only the data know, named after a node.
  dist::DimExpr newSize(mlir::Location loc);
  /// How many such symbols there are, and whether this is one that was made
  /// after `first` others.
  unsigned numReads() const { return readSymbols.lookup(""); }
  bool isReadSince(llvm::StringRef symbol, unsigned first) const;

  //===--- Assumptions ----------------------------------------------------===//

  /// Provable: nothing happens. Provably false: error at `op`. Else a guard.
  llvm::LogicalResult assume(mlir::Operation *op, GuardKind kind,
                             dist::DimExpr lhs, dist::DimExpr rhs,
                             const llvm::Twine &message);
  bool isProvable(GuardKind kind, dist::DimExpr lhs, dist::DimExpr rhs) const;
  /// Provable from symbols >= 0 and what was assumed before.
  bool isKnownAtLeast(dist::DimExpr expr, int64_t bound) const;
  /// The expression, with symbols that were assumed to equal others replaced.
  dist::DimExpr simplify(dist::DimExpr expr) const;
  llvm::ArrayRef<Assumption> assumptions() const { return assumed; }
  /// False for what later assumptions prove, or types now say.
  bool needsCheck(const Assumption &assumption) const;
  bool hasEqualities() const { return !equalities.empty(); }
  /// Symbols of dims that were assumed to equal another symbol, or a number, so
  /// that they broadcast; where one of them is 1, they would as well.
  llvm::ArrayRef<std::string> stretchable() const { return stretchableSymbols; }
  /// Notes that `size` may be 1, too, if it is a symbol.
  void noteStretchable(dist::DimExpr size);

  /// Size of two dims under ONNX's multidirectional broadcasting.
  llvm::FailureOr<dist::DimExpr>
  broadcast(mlir::Operation *op, dist::DimExpr lhs, dist::DimExpr rhs);
  /// The same for whole shapes, right-aligned.
  llvm::FailureOr<llvm::SmallVector<dist::DimExpr, 4>>
  broadcast(mlir::Operation *op, llvm::ArrayRef<dist::DimExpr> lhs,
            llvm::ArrayRef<dist::DimExpr> rhs);
  /// Non-negative form of `axis` for a rank, or an error at `op`.
  llvm::FailureOr<int64_t> normalizeAxis(mlir::Operation *op, int64_t axis,
                                         int64_t rank);

  mlir::OpBuilder &builder;
  const int64_t opset; ///< of the model's default domain

private:
  mlir::Operation *create(mlir::Operation *op, llvm::StringRef name,
                          mlir::ValueRange operands,
                          llvm::ArrayRef<mlir::NamedAttribute> attributes,
                          unsigned numResults);
  /// Whether they are tensors of as many dims as the op declares.
  static llvm::LogicalResult checkOperands(OnnxOp op);
  /// Error at `op` for a size below 0, behind which inference ends.
  void refuseNegative(mlir::Operation *op, llvm::ArrayRef<dist::DimExpr> dims);
  bool recordEquality(dist::DimExpr lhs, dist::DimExpr rhs);
  /// Makes the operand's value known if its integers can be read.
  void evaluateFromData(mlir::OpOperand &operand);
  void read(mlir::Value value);
  std::string newSymbol(llvm::StringRef base);
  /// Gives the values around `body` that it uses the sizes they have in it.
  void reshapeCaptures(mlir::Region &body);
  std::optional<std::pair<dist::DimExpr, dist::DimExpr>>
  equalityToCheck(const Assumption &assumption,
                  const llvm::StringSet<> &bound) const;

  /// A body that is being inferred, and the values around it whose elements
  /// are known in it alone.
  struct Scope {
    mlir::Region *body;
    llvm::SmallVector<mlir::Value> learned;
    bool isOutside(mlir::Value value) const {
      return !body->isAncestor(value.getParentRegion());
    }
  };
  Scope *scope = nullptr;
  mlir::Operation *current = nullptr; ///< that inferOps is at
  bool isRefused = false; ///< what is assumed cannot hold: inference ends

  llvm::DenseMap<mlir::Value, std::unique_ptr<KnownValue>> values;
  llvm::SmallVector<Assumption> assumed;
  llvm::DenseSet<std::tuple<int, const void *, const void *>> assumedKeys;
  llvm::StringMap<dist::DimExpr> equalities; ///< symbol to what it equals
  llvm::StringMap<int64_t> lowerBounds;      ///< of symbols, if above 0
  llvm::StringMap<unsigned> readSymbols;     ///< names in use, how often
  llvm::SmallVector<std::string> stretchableSymbols;
};

//===----------------------------------------------------------------------===//
// Shape functions that many ops share
//===----------------------------------------------------------------------===//

/// Numbers come from a file. Fails unless all of these, which the error calls
/// `name`, lie within +-2^30: no window, stride or count does not, and a sum of
/// some products of two of them is a number still. So are the integers of a
/// node's attributes where its shape function sees them.
llvm::LogicalResult checkNumbers(mlir::Operation *op, llvm::StringRef name,
                                 llvm::ArrayRef<int64_t> numbers);

/// How one element of a known result follows from those of the operands.
struct FoldSite {
  mlir::Operation *op;
  ShapeInference &inference;
  mlir::Type element; ///< of the operands
};
using UnaryFold = std::optional<KnownScalar> (*)(const FoldSite &,
                                                 const KnownScalar &);
using BinaryFold = std::optional<KnownScalar> (*)(const FoldSite &,
                                                  const KnownScalar &,
                                                  const KnownScalar &);

/// Result as operand 0; predicates give bool.
llvm::LogicalResult inferUnary(mlir::Operation *op, ShapeInference &inference,
                               UnaryFold fold = nullptr,
                               bool isPredicate = false);
/// Broadcast of both operands; predicates give bool.
llvm::LogicalResult inferBinary(mlir::Operation *op, ShapeInference &inference,
                                BinaryFold fold = nullptr,
                                bool isPredicate = false);
llvm::LogicalResult inferReduce(mlir::Operation *op, ShapeInference &inference,
                                BinaryFold fold = nullptr);
llvm::LogicalResult inferArg(mlir::Operation *op, ShapeInference &inference);
llvm::LogicalResult inferPool(mlir::Operation *op, ShapeInference &inference);
llvm::LogicalResult inferSoftmax(mlir::Operation *op,
                                 ShapeInference &inference);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_SHAPEINFERENCE_H
