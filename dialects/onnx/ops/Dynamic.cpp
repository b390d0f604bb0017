//===- Dynamic.cpp - Shape functions and sharding rules -------------------===//

#include "dialects/onnx/ops/Dynamic.h"

#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Reduction.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Dynamic.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

void OnnxDialect::registerDynamicOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Dynamic.cpp.inc"
      >();
}

LogicalResult ReadSizesOp::inferTypes(ShapeInference &inference) {
  auto sizes = dyn_cast<dist::DimsAttr>(getSizes());
  auto type = dyn_cast<RankedTensorType>(getData().getType());
  if (!sizes || !type || !type.hasStaticShape() ||
      type.getNumElements() != static_cast<int64_t>(sizes.getValues().size()))
    return emitOpError("expects #dist.dims sizes, as many as its operand's "
                       "static shape has elements");
  return success();
}

/// All ranks read the same bits.
ShardingRule ReadSizesOp::shardingRule() { return replicatedRule(*this); }

//===----------------------------------------------------------------------===//
// NonZero and what it gives
//===----------------------------------------------------------------------===//

/// How many elements are not 0.
static FailureOr<DimExpr> countNonZero(Operation *op, Value data,
                                       ShapeInference &inference) {
  Builder &b = inference.builder;
  Value counted = inference.castTo(op, data, b.getI1Type());
  counted = inference.castTo(op, counted, b.getI64Type());
  Operation *sum =
      inference.create<ReduceSumOp>(op, counted,
                                    {inference.attribute("keepdims", 0),
                                     inference.attribute(
                                         "noop_with_empty_axes", 0)});
  if (!sum)
    return failure();
  return inference.readSize(sum->getResult(0));
}

LogicalResult NonZeroOp::inferTypes(ShapeInference &inference) {
  if (ShapeInference::hasType(getResult()))
    return success();
  SmallVector<DimExpr, 4> dims = inference.dims(getData());
  FailureOr<DimExpr> count = countNonZero(*this, getData(), inference);
  if (failed(count))
    return failure();
  inference.setType(getResult(), inference.builder.getI64Type(),
                    {DimExpr(static_cast<int64_t>(dims.size())), *count});
  return success();
}

ShardingRule NonZeroOp::shardingRule() { return replicatedRule(*this); }

LogicalResult CompressOp::inferTypes(ShapeInference &inference) {
  Value data = getData();
  if (!getAxis())
    data = inference.reshape(*this, data, product(inference.dims(data)));
  FailureOr<int64_t> axis = inference.normalizeAxis(
      *this, getAxis().value_or(0), inference.rank(data));
  if (failed(axis))
    return failure();
  Value places = inference.create<NonZeroOp>(*this, getCondition());
  if (!places)
    return failure();
  DimExpr count = inference.dims(places)[1];
  Value rows = inference.reshape(*this, places, count);
  Value taken = inference.create<GatherOp>(
      *this, {data, rows}, inference.attribute("axis", *axis));
  if (!taken)
    return failure();
  inference.replace(*this, taken);
  return success();
}

ShardingRule CompressOp::shardingRule() { return replicatedRule(*this); }

} // namespace shardc::onnx
