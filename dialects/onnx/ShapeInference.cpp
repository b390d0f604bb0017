//===- ShapeInference.cpp - Types and values known at compile time --------===//

#include "dialects/dist/algebra/DimLimits.h"
#include "dialects/onnx/Onnx.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Source.h"

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

//===----------------------------------------------------------------------===//
// What operands are
//===----------------------------------------------------------------------===//

SmallVector<DimExpr, 4> ShapeInference::dims(Value value) const {
  SmallVector<DimExpr, 4> dims = dist::getDims(value.getType());
  if (hasEqualities())
    for (DimExpr &dim : dims)
      dim = simplify(dim);
  return dims;
}

const KnownValue *ShapeInference::known(Value value) const {
  auto it = values.find(value);
  return it == values.end() ? nullptr : it->second.get();
}

std::optional<SmallVector<DimExpr, 4>>
ShapeInference::knownDims(Operation *op, unsigned index) const {
  const KnownValue *value =
      isPresent(op, index) ? known(op->getOperand(index)) : nullptr;
  if (!value)
    return std::nullopt;
  std::optional<SmallVector<DimExpr, 4>> dims = value->asDims();
  if (dims && hasEqualities())
    for (DimExpr &dim : *dims)
      dim = simplify(dim);
  return dims;
}

std::optional<SmallVector<int64_t, 4>>
ShapeInference::knownInts(Operation *op, unsigned index) const {
  std::optional<SmallVector<DimExpr, 4>> dims = knownDims(op, index);
  return dims ? asConstants(*dims) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// What results are
//===----------------------------------------------------------------------===//

void ShapeInference::setType(Value result, Type element,
                             ArrayRef<DimExpr> dims) {
  SmallVector<DimExpr, 4> simple;
  for (DimExpr dim : dims)
    simple.push_back(simplify(dim));
  refuseNegative(result.getDefiningOp(), simple);
  result.setType(dist::makeType(element, simple));
}

void ShapeInference::refuseNegative(Operation *op, ArrayRef<DimExpr> dims) {
  for (DimExpr dim : dims)
    if (op && !isRefused && dim.asConstant().value_or(0) < 0)
      (void)assume(op, GuardKind::AtLeast, dim, 0,
                   op->getName().stripDialect() + ": the size of a result");
}

void ShapeInference::setKnown(Value result, KnownValue value) {
  if (hasEqualities())
    for (KnownScalar &scalar : value.elements)
      if (auto *dim = std::get_if<DimExpr>(&scalar))
        *dim = simplify(*dim);
  SmallVector<DimExpr, 4> dims(value.shape.begin(), value.shape.end());
  setType(result, value.element, dims);
  auto isTooLarge = [](const KnownScalar &scalar) {
    auto *dim = std::get_if<DimExpr>(&scalar);
    return dim && dist::isTooLarge(*dim);
  };
  auto isNegative = [](int64_t size) { return size < 0; };
  if (static_cast<int64_t>(value.elements.size()) > kMaxKnownElements ||
      llvm::any_of(value.shape, isNegative) ||
      llvm::any_of(value.elements, isTooLarge))
    return;
  if (scope && scope->isOutside(result) && !values.count(result))
    scope->learned.push_back(result);
  values[result] = std::make_unique<KnownValue>(std::move(value));
}

void ShapeInference::keepKnown(Value from, Value result) {
  std::optional<SmallVector<int64_t, 4>> shape = asConstants(dims(result));
  const KnownValue *value = known(from);
  // Of another number: the compile ends behind this op.
  if (value && shape &&
      numElements(*shape) == static_cast<int64_t>(value->elements.size()))
    setKnown(result, KnownValue{value->element, SmallVector<int64_t, 4>(*shape),
                                value->elements});
}

void ShapeInference::keepOperands(Operation *op, unsigned count) {
  if (count < op->getNumOperands())
    op->eraseOperands(count, op->getNumOperands() - count);
}

void ShapeInference::dropAbsentTail(Operation *op) {
  unsigned count = op->getNumOperands();
  while (count > 0 && !isPresent(op->getOperand(count - 1)))
    --count;
  keepOperands(op, count);
}

void ShapeInference::replace(Operation *op, Value value) {
  replaceResult(op, 0, value);
}

void ShapeInference::replaceResult(Operation *op, unsigned index, Value value) {
  op->getResult(index).replaceAllUsesWith(value);
}

Operation *ShapeInference::create(Operation *op, StringRef name,
                                  ValueRange operands,
                                  ArrayRef<NamedAttribute> attributes,
                                  unsigned numResults) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  Type unknown = UnrankedTensorType::get(UnknownType::get(op->getContext()));
  SmallVector<Type, 1> types(numResults, unknown);
  OperationState state(op->getLoc(), name, operands, types, attributes);
  Operation *created = builder.create(state);
  if (failed(checkOperands(cast<OnnxOp>(created))) ||
      failed(cast<OnnxOp>(created).inferTypes(*this)))
    return nullptr;
  return created;
}

Value ShapeInference::constant(Operation *op, const KnownValue &value) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  SmallVector<DimExpr, 4> shape(value.shape.begin(), value.shape.end());
  Type type = dist::makeType(value.element, shape);
  Value result;
  if (DenseElementsAttr elements = value.asElements())
    result = ConstantOp::create(builder, op->getLoc(), type, elements);
  else
    result = SymbolsOp::create(
        builder, op->getLoc(), type,
        dist::DimsAttr::get(builder.getContext(), *value.asDims()));
  setKnown(result, value);
  return result;
}

Value ShapeInference::reshape(Operation *op, Value data,
                              ArrayRef<DimExpr> newDims) {
  if (ArrayRef<DimExpr>(dims(data)) == newDims)
    return data;
  refuseNegative(op, newDims);
  // A Reshape of the model assumes so itself. Where it is provably false, the
  // compile ends behind this op.
  if (!isa<ReshapeOp>(op))
    (void)assume(op, GuardKind::Equal, product(dims(data)), product(newDims),
                 op->getName().stripDialect() + ": elements of an operand");
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  Type type = dist::makeType(element(data), newDims);
  Value result =
      ReshapeOp::create(builder, op->getLoc(), type, data, ValueRange{});
  keepKnown(data, result);
  return result;
}

Value ShapeInference::expand(Operation *op, Value data,
                             ArrayRef<DimExpr> newDims) {
  const SmallVector<DimExpr, 4> from = dims(data);
  if (ArrayRef<DimExpr>(from) == newDims)
    return data;
  assert(from.size() <= newDims.size() && "dims are added in front");
  refuseNegative(op, newDims);
  bool fits = true; // or the compile ends behind this op
  for (auto [size, to] : llvm::zip(llvm::reverse(from), llvm::reverse(newDims)))
    if (!size.isConstant(1))
      fits &= succeeded(
          assume(op, GuardKind::Equal, size, to,
                 op->getName().stripDialect() + ": sizes of an operand"));
  std::optional<SmallVector<int64_t, 4>> shape = asConstants(newDims);
  const KnownValue *value = known(data);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  Type type = dist::makeType(element(data), newDims);
  Value result =
      ExpandOp::create(builder, op->getLoc(), type, data, ValueRange{});
  if (fits && value && shape && numElements(*shape) <= kMaxKnownElements)
    setKnown(result, moveElements(*value, *shape, [](ArrayRef<int64_t> index) {
               return SmallVector<int64_t>(index);
             }));
  return result;
}

Value ShapeInference::transpose(Operation *op, Value data,
                                ArrayRef<int64_t> perm) {
  return create<TransposeOp>(
      op, data,
      builder.getNamedAttr("perm", builder.getDenseI64ArrayAttr(perm)));
}

FailureOr<int64_t> ShapeInference::normalizeAxis(Operation *op, int64_t axis,
                                                 int64_t rank) {
  if (axis < -rank || axis >= rank)
    return op->emitOpError("has axis ")
           << axis << ", expected one in [" << -rank << ", " << rank
           << ") for an operand with " << rank << " dims";
  return axis < 0 ? axis + rank : axis;
}

} // namespace shardc::onnx
