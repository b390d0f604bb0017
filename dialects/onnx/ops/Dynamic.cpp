//===- Dynamic.cpp - Shape functions and sharding rules -------------------===//

#include "dialects/onnx/ops/Dynamic.h"

#include "dialects/onnx/Decomposition.h"
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

void forEachSize(Operation *op, llvm::function_ref<void(DimExpr)> visit) {
  for (Value result : op->getResults())
    if (isa<RankedTensorType>(result.getType()))
      llvm::for_each(dist::getDims(result.getType()), visit);
  for (NamedAttribute attribute : op->getAttrs())
    if (auto dims = dyn_cast<dist::DimsAttr>(attribute.getValue()))
      llvm::for_each(dims.getValues(), visit);
}

LogicalResult ReadSizesOp::inferTypes(ShapeInference &inference) {
  dist::DimsAttr sizes = getSizes();
  auto type = dyn_cast<RankedTensorType>(getData().getType());
  if (!type || !type.hasStaticShape() ||
      type.getNumElements() != static_cast<int64_t>(sizes.getValues().size()))
    return emitOpError("expects as many sizes as its operand's "
                       "static shape has elements");
  return success();
}

/// All ranks read the same bits.
ShardingRule ReadSizesOp::shardingRule() { return replicatedRule(*this); }

//===----------------------------------------------------------------------===//
// NonZero and what it gives
//===----------------------------------------------------------------------===//

LogicalResult NonZeroOp::inferTypes(ShapeInference &inference) {
  if (ShapeInference::hasType(getResult()))
    return success();
  Decomposition d(*this, inference);
  Value isSet = d.cast(d.cast(getData(), d.i1()), d.i64());
  Value count =
      d.make<ReduceSumOp>({isSet}, {d.attribute("keepdims", 0),
                                    d.attribute("noop_with_empty_axes", 0)});
  if (!count)
    return failure();
  inference.setType(getResult(), d.i64(),
                    {DimExpr(d.rank(getData())), inference.readSize(count)});
  return success();
}

ShardingRule NonZeroOp::shardingRule() { return replicatedRule(*this); }

LogicalResult CompressOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  Value data = getData();
  if (!getAxis())
    data = d.reshape(data, {product(d.dims(data))});
  FailureOr<int64_t> axis =
      inference.normalizeAxis(*this, getAxis().value_or(0), d.rank(data));
  if (failed(axis))
    return failure();
  Value places = d.make<NonZeroOp>({getCondition()});
  if (!places)
    return failure();
  Value rows = d.reshape(places, {d.dims(places)[1]});
  return d.replaceBy(
      {d.make<GatherOp>({data, rows}, {d.attribute("axis", *axis)})});
}

} // namespace shardc::onnx
