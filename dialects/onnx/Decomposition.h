//===- Decomposition.h - An op written by others --------------------------===//
//
// Writes the ops that replace one, each just before it:
//
//   Decomposition d(op, inference);
//   Value half = d.mul(x, d.number(element, 0.5));
//   return d.replaceBy({half});
//
// A null value stands for an error that was emitted already, or an absent
// operand. Every function passes it on, so that a chain needs one check, at its
// end.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_DECOMPOSITION_H
#define SHARDC_DIALECTS_ONNX_DECOMPOSITION_H

#include "dialects/onnx/ShapeInference.h"

namespace shardc::onnx {

class Decomposition {
public:
  using Value = mlir::Value;
  using Dims = llvm::SmallVector<dist::DimExpr, 4>;

  Decomposition(mlir::Operation *op, ShapeInference &inference)
      : op(op), inference(inference) {}

  mlir::Operation *const op;
  ShapeInference &inference;

  //===--- The op ---------------------------------------------------------===//

  /// Null if it is absent.
  Value operand(unsigned index) const;
  /// Null if nobody uses it.
  Value usedResult(unsigned index) const;
  /// `values` in place of the results; null for those that nobody uses.
  llvm::LogicalResult replaceBy(llvm::ArrayRef<Value> values);
  /// Fails, with an error, where an operand is present or a result is used that
  /// the decomposition does not know; `remedy` says what to do instead.
  llvm::LogicalResult refuseOperand(unsigned index, llvm::StringRef name,
                                    llvm::StringRef remedy);
  llvm::LogicalResult refuseResult(unsigned index, llvm::StringRef name);
  llvm::LogicalResult refuse(const llvm::Twine &what, llvm::StringRef remedy);
  /// Error unless the operand has so many dims.
  llvm::LogicalResult expectRank(Value value, llvm::StringRef name,
                                 llvm::ArrayRef<int64_t> ranks);

  /// Assumes that a dim of an operand has that size, checked at run where a symbol
  /// decides.
  llvm::LogicalResult expectSize(Value value, int64_t axis, dist::DimExpr size,
                                 llvm::StringRef name);
  /// The same of all its dims, whose number an error is.
  llvm::LogicalResult expectDims(Value value,
                                 llvm::ArrayRef<dist::DimExpr> sizes,
                                 llvm::StringRef name);

  Dims dims(Value value) const {
    return value ? inference.dims(value) : Dims();
  }
  int64_t rank(Value value) const { return dims(value).size(); }
  mlir::Type element(Value value) const {
    return value ? inference.element(value) : mlir::Type();
  }
  mlir::Type i64() const { return inference.builder.getI64Type(); }
  mlir::Type f32() const { return inference.builder.getF32Type(); }
  mlir::Type i1() const { return inference.builder.getI1Type(); }

  //===--- New ops --------------------------------------------------------===//

  /// The first result of a new op, or what inference put in its place; null if
  /// an operand is.
  template <typename OpTy>
  Value make(llvm::ArrayRef<Value> operands,
             llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return make(OpTy::getOperationName(), operands, attributes);
  }
  Value make(llvm::StringRef name, llvm::ArrayRef<Value> operands,
             llvm::ArrayRef<mlir::NamedAttribute> attributes);
  /// Of an integer, a float (f32), a list of integers or a string.
  template <typename T>
  mlir::NamedAttribute attribute(llvm::StringRef name, const T &value) const {
    mlir::Builder &b = inference.builder;
    if constexpr (std::is_integral_v<T>)
      return b.getNamedAttr(name, b.getI64IntegerAttr(value));
    else if constexpr (std::is_floating_point_v<T>)
      return b.getNamedAttr(name, b.getF32FloatAttr(value));
    else if constexpr (std::is_same_v<T, llvm::APFloat>)
      return b.getNamedAttr(name, b.getF32FloatAttr(value.convertToFloat()));
    else if constexpr (std::is_convertible_v<const T &,
                                             llvm::ArrayRef<int64_t>>)
      return b.getNamedAttr(name, b.getDenseI64ArrayAttr(value));
    else
      return b.getNamedAttr(name, b.getStringAttr(value));
  }

  /// An operand that is not there.
  Value absent();
  /// A scalar: of floats rounded to the type, or of integers.
  Value number(mlir::Type element, double value);
  Value integer(mlir::Type element, dist::DimExpr value);
  /// i64 [n].
  Value integers(llvm::ArrayRef<dist::DimExpr> values);
  /// The same of constants, of which there may be many.
  Value places(llvm::ArrayRef<int64_t> values);
  /// Row-major; integers must be whole numbers.
  Value constant(mlir::Type element, llvm::ArrayRef<int64_t> shape,
                 llvm::ArrayRef<double> values);
  /// Known if the elements are few.
  Value constant(mlir::DenseElementsAttr elements);
  /// start, start + 1, ...: i64 [count].
  Value range(dist::DimExpr start, dist::DimExpr count);

  Value add(Value lhs, Value rhs);
  Value sub(Value lhs, Value rhs);
  Value mul(Value lhs, Value rhs);
  Value matmul(Value lhs, Value rhs);
  /// Of ReduceSum and its relatives.
  template <typename ReduceOp>
  Value reduce(Value value, llvm::ArrayRef<int64_t> axes,
               bool keepsDims = true) {
    return make<ReduceOp>({value}, {attribute("axes", axes),
                                    attribute("keepdims", int64_t(keepsDims))});
  }
  Value cast(Value value, mlir::Type element);
  Value reshape(Value value, llvm::ArrayRef<dist::DimExpr> dims);
  Value expand(Value value, llvm::ArrayRef<dist::DimExpr> dims);
  Value transpose(Value value, llvm::ArrayRef<int64_t> perm);
  /// Exchanges the last two dims.
  Value transposeLast(Value value);
  Value concat(llvm::ArrayRef<Value> values, int64_t axis);
  /// `size` elements from `start`; both must be known to lie within the dim.
  Value slice(Value value, int64_t axis, dist::DimExpr start,
              dist::DimExpr size);
  /// Parts of these sizes along `axis`; nulls if `value` is.
  llvm::SmallVector<Value, 4> split(Value value, int64_t axis,
                                    llvm::ArrayRef<dist::DimExpr> sizes);
  /// Row `index` of `axis`, without that dim.
  Value row(Value value, int64_t axis, dist::DimExpr index);
};

/// What stands before reshapes of it: the same elements in the same order.
mlir::Value beforeReshapes(mlir::Value value);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_DECOMPOSITION_H
