//===- Cache.cpp - Shape functions and sharding rules ---------------------===//

#include "dialects/onnx/ops/Cache.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Cache.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

void OnnxDialect::registerCacheOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Cache.cpp.inc"
      >();
}

LogicalResult CacheAppendOp::inferTypes(ShapeInference &inference) {
  SmallVector<DimExpr, 4> past = inference.dims(getPast());
  SmallVector<DimExpr, 4> added = inference.dims(getAdded());
  SmallVector<DimExpr, 4> lengths = inference.dims(getLengths());
  if (past.size() != 4 || added.size() != 4 || lengths.size() != 1)
    return emitOpError("has past, new entries and lengths of ")
           << past.size() << ", " << added.size() << " and " << lengths.size()
           << " dims, expected 4, 4 and 1";
  auto same = [&](DimExpr lhs, DimExpr rhs, StringRef what) {
    return inference.assume(*this, GuardKind::Equal, lhs, rhs,
                            "CacheAppend: " + what + " " + lhs.str() + " and " +
                                rhs.str() + " differ");
  };
  if (failed(same(past[0], added[0], "batch sizes")) ||
      failed(same(lengths[0], added[0], "batch sizes")) ||
      failed(same(past[1], added[1], "heads")) ||
      failed(same(past[3], added[3], "head sizes")))
    return failure();
  DimExpr capacity = getInCapacity() ? past[2] : past[2] + added[2];
  inference.setType(getResult(), inference.element(getAdded()),
                    {added[0], added[1], capacity, added[3]});
  return success();
}

ShardingRule CacheAppendOp::shardingRule() {
  return einsumRule(*this, "b h !p d, b h !s d, b -> b h !t d");
}

} // namespace shardc::onnx
