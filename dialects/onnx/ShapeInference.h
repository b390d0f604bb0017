//===- ShapeInference.h - Types and values known at compile time ----------===//
//
// Exporters compute reshape targets, masks and positions with chains of Shape,
// Gather, Concat, Mul, Slice. Shape inference evaluates them symbolically:
//
//   %0 = onnx.Shape(%x)                          [batch, seq]
//   %1 = onnx.Gather(%0, 1)                      seq
//   %2 = onnx.Concat(%1, [-1])                   [seq, -1]
//   onnx.Reshape(%x, %2)  becomes  onnx.Reshape(%x) : ... -> tensor<seq x batch>
//
// Ops ask for known values of operands and record those of results. Where a
// fold needs more than symbols >= 0, it records an assumption, which becomes an
// onnx.Guard.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_SHAPEINFERENCE_H
#define SHARDC_DIALECTS_ONNX_SHAPEINFERENCE_H

#include "dialects/dist/Dist.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

#include <variant>

namespace shardc::onnx {

/// Element of a small tensor: symbolic integer (bool: 0 or 1) or number, already
/// rounded to the tensor's element type.
using KnownScalar = std::variant<dist::DimExpr, double>;

/// A small tensor whose elements are all known.
struct KnownValue {
  mlir::Type element;
  llvm::SmallVector<int64_t, 2> shape;
  llvm::SmallVector<KnownScalar, 4> elements; ///< row-major

  /// The integers, if that is what it holds.
  std::optional<llvm::SmallVector<dist::DimExpr, 4>> asDims() const;
  std::optional<llvm::SmallVector<int64_t, 4>> asConstants() const;
};

enum class GuardKind : uint8_t { Equal, AtLeast, AtMost };

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
  llvm::SmallVector<dist::DimExpr, 4> dims(mlir::Value value) const {
    return dist::getDims(value.getType());
  }
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
  std::optional<llvm::SmallVector<int64_t, 4>>
  knownInts(mlir::Operation *op, unsigned index) const;

  //===--- What results are -----------------------------------------------===//

  void setType(mlir::Value result, mlir::Type element,
               llvm::ArrayRef<dist::DimExpr> dims);
  /// Records a result's value and, from it, its type.
  void setKnown(mlir::Value result, KnownValue value);
  /// Keeps the first `count` operands of `op`.
  void keepOperands(mlir::Operation *op, unsigned count);
  /// Result 0 of `op` is `value` from now on; `op` goes.
  void replace(mlir::Operation *op, mlir::Value value);
  /// onnx.Reshape of `data` to these dims, just before `op`; `data` itself if
  /// it has them already. Known values follow.
  mlir::Value reshape(mlir::Operation *op, mlir::Value data,
                      llvm::ArrayRef<dist::DimExpr> dims);

  //===--- Assumptions ----------------------------------------------------===//

  /// Provable: nothing happens. Provably false: error at `op`. Else a guard.
  llvm::LogicalResult assume(mlir::Operation *op, GuardKind kind,
                             dist::DimExpr lhs, dist::DimExpr rhs,
                             const llvm::Twine &message);
  /// Size of two dims under ONNX's multidirectional broadcasting.
  llvm::FailureOr<dist::DimExpr> broadcast(mlir::Operation *op,
                                           dist::DimExpr lhs,
                                           dist::DimExpr rhs);
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
  llvm::DenseMap<mlir::Value, KnownValue> values;
};

//===----------------------------------------------------------------------===//
// Shape functions that many ops share
//===----------------------------------------------------------------------===//

/// Result as operand 0; comparisons and predicates give bool. Folds.
llvm::LogicalResult inferUnary(mlir::Operation *op, ShapeInference &inference);
/// Broadcast of all operands; comparisons give bool. Folds.
llvm::LogicalResult inferBinary(mlir::Operation *op, ShapeInference &inference);
llvm::LogicalResult inferReduce(mlir::Operation *op, ShapeInference &inference);
llvm::LogicalResult inferArg(mlir::Operation *op, ShapeInference &inference);
llvm::LogicalResult inferSoftmax(mlir::Operation *op, ShapeInference &inference);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_SHAPEINFERENCE_H
