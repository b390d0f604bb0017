//===- Source.cpp - Shape functions and sharding rules --------------------===//

#include "dialects/onnx/ops/Source.h"
#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Math.h"

#include <cmath>

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Source.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

void OnnxDialect::registerSourceOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Source.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Values by themselves
//===----------------------------------------------------------------------===//

/// Each dim of a stored tensor may be split as its users like.
static ShardingRule storedRule(Operation *op) {
  ShardingRule rule;
  RuleTensor &result = rule.results.emplace_back();
  for (DimExpr size : dist::getDims(op->getResult(0).getType()))
    result.push_back(rule.addDim(size));
  return rule;
}

LogicalResult WeightOp::inferTypes(ShapeInference &inference) {
  if (!ShapeInference::hasType(getResult()))
    return emitOpError("must say the type of its tensor");
  return success();
}

ShardingRule WeightOp::shardingRule() { return storedRule(*this); }

LogicalResult ConstantOp::inferTypes(ShapeInference &inference) {
  if (auto known = readKnown(getValue(), ShapeInference::kMaxKnownElements)) {
    inference.setKnown(getResult(), std::move(*known));
    return success();
  }
  ShapedType type = getValue().getShapedType();
  SmallVector<DimExpr, 4> dims(type.getShape().begin(), type.getShape().end());
  inference.setType(getResult(), type.getElementType(), dims);
  return success();
}

ShardingRule ConstantOp::shardingRule() { return storedRule(*this); }

LogicalResult SymbolsOp::inferTypes(ShapeInference &inference) {
  dist::DimsAttr values = getValues();
  auto type = dyn_cast<RankedTensorType>(getResult().getType());
  if (!type || !type.hasStaticShape() ||
      type.getNumElements() != static_cast<int64_t>(values.getValues().size()))
    return emitOpError("expects as many values as its result's "
                       "static shape has elements");
  KnownValue known{
      type.getElementType(), SmallVector<int64_t, 4>(type.getShape()), {}};
  for (DimExpr value : values.getValues())
    known.elements.push_back(value);
  inference.setKnown(getResult(), std::move(known));
  return success();
}

ShardingRule SymbolsOp::shardingRule() { return replicatedRule(*this); }

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

LogicalResult ShapeOp::inferTypes(ShapeInference &inference) {
  SmallVector<DimExpr, 4> dims = inference.dims(getData());
  int64_t rank = dims.size();
  auto clamp = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  int64_t start = clamp(getStart()), end = clamp(getEnd().value_or(rank));
  KnownValue known{
      inference.builder.getI64Type(), {std::max<int64_t>(0, end - start)}, {}};
  for (int64_t d = start; d < end; ++d)
    known.elements.push_back(dims[d]);
  inference.setKnown(getResult(), std::move(known));
  return success();
}

LogicalResult SizeOp::inferTypes(ShapeInference &inference) {
  inference.setKnown(getResult(),
                     KnownValue{inference.builder.getI64Type(),
                                {},
                                {product(inference.dims(getData()))}});
  return success();
}

LogicalResult ConstantOfShapeOp::inferTypes(ShapeInference &inference) {
  auto dims = inference.knownOrReadDims(*this, 0);
  if (!dims)
    return emitOpError("has a shape that is no small integer tensor");
  KnownValue scalar{inference.builder.getF32Type(), {}, {0.0}};
  if (std::optional<ElementsAttr> value = getValue()) {
    auto known = readKnown(*value, 1);
    if (!known || known->elements.size() != 1)
      return emitOpError("has a value of ")
             << value->getNumElements() << " elements, expected 1";
    scalar = KnownValue{known->element, {}, known->elements};
  }
  Value constant = inference.constant(*this, scalar);
  inference.replace(*this, inference.expand(*this, constant, *dims));
  return success();
}

//===----------------------------------------------------------------------===//
// Range
//===----------------------------------------------------------------------===//

/// start + i * delta for each i below ceil((limit - start) / delta), of which
/// only the data know how many there are.
static LogicalResult readFloatRange(RangeOp op, ShapeInference &inference,
                                    Type element) {
  Decomposition d(op, inference);
  Type f64 = inference.builder.getF64Type();
  Value operands[3];
  for (auto [i, operand] : llvm::enumerate(op.getInputs()))
    operands[i] = d.reshape(d.cast(operand, f64), {});
  auto [start, limit, delta] = operands;
  Value count = d.make<CeilOp>({d.make<DivOp>({d.sub(limit, start), delta})});
  count = d.make<MaxOp>({d.cast(count, d.i64()), d.integer(d.i64(), 0)});
  if (!count)
    return failure();
  Value steps = d.cast(d.range(0, inference.readSize(count)), f64);
  return d.replaceBy(d.cast(d.add(start, d.mul(steps, delta)), element));
}

static LogicalResult inferFloatRange(RangeOp op, ShapeInference &inference,
                                     Type element) {
  double values[3];
  for (auto [i, operand] : llvm::enumerate(op.getInputs())) {
    const KnownValue *known = inference.known(operand);
    if (!known || !std::holds_alternative<double>(known->elements[0]))
      return readFloatRange(op, inference, element);
    values[i] = std::get<double>(known->elements[0]);
  }
  double count = std::ceil((values[1] - values[0]) / values[2]);
  if (!(std::fabs(count) < 1e9))
    return op.emitOpError("has ") << count << " elements";
  int64_t size = std::max<int64_t>(0, static_cast<int64_t>(count));
  if (size > ShapeInference::kMaxKnownElements) {
    inference.setType(op.getResult(), element, {DimExpr(size)});
    return success();
  }
  KnownValue known{element, {size}, {}};
  for (int64_t i = 0; i < size; ++i)
    known.elements.push_back(*storeAs(element, values[0] + i * values[2]));
  inference.setKnown(op.getResult(), std::move(known));
  return success();
}

/// Number of elements of start, start + delta, ... before limit.
static FailureOr<DimExpr> rangeSize(RangeOp op, ShapeInference &inference,
                                    DimExpr start, DimExpr limit,
                                    int64_t delta) {
  DimExpr span = delta > 0 ? limit - start : start - limit;
  DimExpr step = delta > 0 ? DimExpr(delta) : DimExpr() - delta;
  if (span.asConstant().value_or(1) <= 0)
    return DimExpr();
  if (failed(inference.assume(op, GuardKind::AtLeast, span, 0,
                              "Range: from " + start.str() + " to " +
                                  limit.str() + " has no size")))
    return failure();
  return DimExpr::floorDiv(span + (step - 1), step);
}

LogicalResult RangeOp::inferTypes(ShapeInference &inference) {
  if (getBounds() && getInputs().empty() &&
      ShapeInference::hasType(getResult()))
    return success();
  if (getInputs().size() != 3)
    return emitOpError("has ")
           << getInputs().size() << " operands, expected start, limit, delta";
  Type element = inference.element(getInputs()[0]);
  if (isa<FloatType>(element))
    return inferFloatRange(*this, inference, element);
  SmallVector<DimExpr, 3> values;
  for (unsigned i = 0; i < 3; ++i) {
    auto known = inference.knownOrReadDims(*this, i);
    if (!known || known->size() != 1)
      return emitOpError("has a ") << (i == 0   ? "start"
                                       : i == 1 ? "limit"
                                                : "delta")
                                   << " that is no single integer";
    values.push_back(known->front());
  }
  std::optional<int64_t> delta = values[2].asConstant();
  if (!delta || *delta == 0)
    return emitOpError("has delta ")
           << values[2].str() << ", expected a constant other than 0";
  FailureOr<DimExpr> size =
      rangeSize(*this, inference, values[0], values[1], *delta);
  if (failed(size))
    return failure();
  std::optional<int64_t> count = size->asConstant();
  if (count && *count <= ShapeInference::kMaxKnownElements) {
    KnownValue known{element, {*count}, {}};
    for (int64_t i = 0; i < *count; ++i)
      known.elements.push_back(values[0] + values[2] * i);
    inference.setKnown(getResult(), std::move(known));
    return success();
  }
  inference.keepOperands(*this, 0);
  setBoundsAttr(dist::DimsAttr::get(getContext(), {values[0], values[2]}));
  inference.setType(getResult(), element, {*size});
  return success();
}

ShardingRule RangeOp::shardingRule() { return replicatedRule(*this); }

} // namespace shardc::onnx
