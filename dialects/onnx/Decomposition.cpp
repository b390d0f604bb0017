//===- Decomposition.cpp - An op written by others ------------------------===//

#include "dialects/onnx/Decomposition.h"

#include "dialects/onnx/Onnx.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Source.h"

#include "mlir/IR/PatternMatch.h"

#include <cmath>
#include <vector>

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

Value Decomposition::operand(unsigned index) const {
  return ShapeInference::isPresent(op, index) ? op->getOperand(index) : Value();
}

Value Decomposition::usedResult(unsigned index) const {
  bool isUsed =
      index < op->getNumResults() && !op->getResult(index).use_empty();
  return isUsed ? Value(op->getResult(index)) : Value();
}

LogicalResult Decomposition::replaceBy(ArrayRef<Value> values) {
  if (auto *listener = dyn_cast_if_present<RewriterBase::Listener>(
          inference.builder.getListener()))
    listener->notifyOperationReplaced(op, values);
  for (unsigned i = 0; i < op->getNumResults(); ++i) {
    if (op->getResult(i).use_empty())
      continue;
    if (i >= values.size())
      return refuse("a use of its output " + Twine(i),
                    "export the model without it");
    if (!values[i])
      return failure();
    inference.replaceResult(op, i, values[i]);
  }
  return success();
}

LogicalResult Decomposition::refuse(const Twine &what, StringRef remedy) {
  return op->emitOpError("has ")
         << what << ", which is not supported: " << remedy;
}

LogicalResult Decomposition::refuseOperand(unsigned index, StringRef name,
                                           StringRef remedy) {
  return operand(index) ? refuse(name, remedy) : success();
}

LogicalResult Decomposition::refuseResult(unsigned index, StringRef name) {
  return usedResult(index) ? refuse("a use of its output " + name,
                                    "export the model for inference")
                           : success();
}

LogicalResult Decomposition::expectRank(Value value, StringRef name,
                                        ArrayRef<int64_t> ranks) {
  if (!value || llvm::is_contained(ranks, rank(value)))
    return success();
  InFlightDiagnostic error = op->emitOpError("has ");
  error << name << " of " << rank(value) << " dims, expected ";
  llvm::interleave(
      ranks, [&](int64_t rank) { error << rank; }, [&] { error << " or "; });
  return error;
}

LogicalResult Decomposition::expectSize(Value value, int64_t axis, DimExpr size,
                                        StringRef name) {
  if (!value)
    return success();
  return inference.assume(op, GuardKind::Equal, dims(value)[axis], size,
                          op->getName().stripDialect() + ": dim " +
                              Twine(axis) + " of " + name);
}

LogicalResult Decomposition::expectDims(Value value, ArrayRef<DimExpr> sizes,
                                        StringRef name) {
  if (failed(expectRank(value, name, int64_t(sizes.size()))))
    return failure();
  for (auto [axis, size] : llvm::enumerate(sizes))
    if (failed(expectSize(value, axis, size, name)))
      return failure();
  return success();
}

Value Decomposition::make(StringRef name, ArrayRef<Value> operands,
                          ArrayRef<NamedAttribute> attributes) {
  if (llvm::is_contained(operands, Value()))
    return {};
  OpBuilder &builder = inference.builder;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  Type unknown = UnrankedTensorType::get(UnknownType::get(op->getContext()));
  Operation *created = builder.create(
      OperationState(op->getLoc(), name, operands, {unknown}, attributes));
  // Its user sees what takes its place.
  auto user = UnrealizedConversionCastOp::create(builder, op->getLoc(), unknown,
                                                 created->getResult(0));
  bool isInferred =
      succeeded(mlir::cast<OnnxOp>(created).inferTypes(inference));
  Value result = user.getOperand(0);
  user.erase();
  return isInferred ? result : Value();
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value Decomposition::absent() {
  OpBuilder &builder = inference.builder;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  return NoneOp::create(builder, op->getLoc(), builder.getNoneType());
}

Value Decomposition::number(Type element, double value) {
  if (!element)
    return {};
  if (!isa<FloatType>(element)) {
    if (value != std::trunc(value) || std::fabs(value) >= 0x1p63) {
      op->emitOpError("has operands of ")
          << element << ", which have no " << value << "; expected floats";
      return {};
    }
    return integer(element, static_cast<int64_t>(value));
  }
  return inference.constant(
      op, KnownValue{element, {}, {*storeAs(element, value)}});
}

Value Decomposition::integer(Type element, DimExpr value) {
  return inference.constant(op, KnownValue{element, {}, {KnownScalar(value)}});
}

Value Decomposition::integers(ArrayRef<DimExpr> values) {
  KnownValue known{i64(), {static_cast<int64_t>(values.size())}, {}};
  known.elements.assign(values.begin(), values.end());
  return inference.constant(op, known);
}

Value Decomposition::places(ArrayRef<int64_t> values) {
  const auto size = static_cast<int64_t>(values.size());
  return constant(
      DenseElementsAttr::get(RankedTensorType::get(size, i64()), values));
}

Value Decomposition::constant(DenseElementsAttr elements) {
  OpBuilder &builder = inference.builder;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  auto created =
      ConstantOp::create(builder, op->getLoc(), elements.getType(), elements);
  return failed(created.inferTypes(inference)) ? Value() : created.getResult();
}

Value Decomposition::constant(Type element, ArrayRef<int64_t> shape,
                              ArrayRef<double> values) {
  // Of these there may be many.
  auto type = RankedTensorType::get(shape, element);
  if (element.isF64())
    return constant(DenseElementsAttr::get(type, values));
  if (element.isF32())
    return constant(DenseElementsAttr::get(
        type,
        ArrayRef<float>(std::vector<float>(values.begin(), values.end()))));
  KnownValue known{element, SmallVector<int64_t, 4>(shape), {}};
  for (double value : values)
    known.elements.push_back(
        isa<FloatType>(element)
            ? *storeAs(element, value)
            : KnownScalar(DimExpr(static_cast<int64_t>(value))));
  return inference.constant(op, known);
}

Value Decomposition::range(DimExpr start, DimExpr count) {
  return make<RangeOp>({integer(i64(), start), integer(i64(), start + count),
                        integer(i64(), 1)});
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value Decomposition::add(Value lhs, Value rhs) {
  return make<AddOp>({lhs, rhs});
}
Value Decomposition::sub(Value lhs, Value rhs) {
  return make<SubOp>({lhs, rhs});
}
Value Decomposition::mul(Value lhs, Value rhs) {
  return make<MulOp>({lhs, rhs});
}
Value Decomposition::matmul(Value lhs, Value rhs) {
  return make<MatMulOp>({lhs, rhs});
}

Value Decomposition::cast(Value value, Type to) {
  if (!value || !to || element(value) == to)
    return value;
  OpBuilder &builder = inference.builder;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  auto created =
      CastOp::create(builder, op->getLoc(), dist::makeType(to, dims(value)),
                     value, IntegerAttr());
  return failed(created.inferTypes(inference)) ? Value() : created.getResult();
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

Value Decomposition::reshape(Value value, ArrayRef<DimExpr> dims) {
  return value ? inference.reshape(op, value, dims) : Value();
}

Value Decomposition::expand(Value value, ArrayRef<DimExpr> dims) {
  return value ? inference.expand(op, value, dims) : Value();
}

Value Decomposition::transpose(Value value, ArrayRef<int64_t> perm) {
  // Transpose itself would be replaced, and its result have no type.
  if (llvm::is_sorted(perm))
    return value;
  return value ? inference.transpose(op, value, perm) : Value();
}

Value Decomposition::transposeLast(Value value) {
  SmallVector<int64_t> perm;
  for (int64_t d = 0; d < rank(value); ++d)
    perm.push_back(d);
  if (perm.size() >= 2)
    std::swap(perm.end()[-1], perm.end()[-2]);
  return transpose(value, perm);
}

Value Decomposition::concat(ArrayRef<Value> values, int64_t axis) {
  if (values.size() == 1)
    return values.front();
  return make<ConcatOp>(values, attribute("axis", axis));
}

Value Decomposition::slice(Value value, int64_t axis, DimExpr start,
                           DimExpr size) {
  Dims sizes = dims(value), starts(sizes.size(), DimExpr());
  if (!value || sizes[axis] == size)
    return value;
  if (failed(inference.assume(op, GuardKind::AtLeast, sizes[axis], start + size,
                              op->getName().stripDialect() + ": dim " +
                                  Twine(axis) + " of an operand")))
    return {};
  starts[axis] = start;
  sizes[axis] = size;
  OpBuilder &builder = inference.builder;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  auto created = SliceOp::create(
      builder, op->getLoc(), dist::makeType(element(value), sizes), value,
      ValueRange{}, DenseI64ArrayAttr(), DenseI64ArrayAttr(),
      DenseI64ArrayAttr(), dist::DimsAttr::get(op->getContext(), starts),
      builder.getDenseI64ArrayAttr(SmallVector<int64_t>(sizes.size(), 1)));
  return created.getResult();
}

SmallVector<Value, 4> Decomposition::split(Value value, int64_t axis,
                                           ArrayRef<DimExpr> sizes) {
  SmallVector<Value, 4> parts(sizes.size());
  if (!value)
    return parts;
  auto created = inference.create<SplitOp>(
      op, {value, integers(sizes)}, attribute("axis", axis), sizes.size());
  if (created)
    llvm::copy(created.getParts(), parts.begin());
  return parts;
}

Value Decomposition::row(Value value, int64_t axis, DimExpr index) {
  Value sliced = slice(value, axis, index, 1);
  Dims rest = dims(sliced);
  if (sliced)
    rest.erase(rest.begin() + axis);
  return reshape(sliced, rest);
}

Value beforeReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getData();
  return value;
}

} // namespace shardc::onnx
