//===- Pages.cpp - Lowering of caches in pages ----------------------------===//
//
// The result of a PageWrite is the pool itself where a state keeps it: see
// rt.cache of kind "write". All else is a call on what is there.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Pages.h"

#include "passes/lower/Lowering.h"

using namespace mlir;

namespace shardc::onnx {

using namespace lower;

static SmallVector<ValueView, 8> viewsOf(Operation *op, Lowering &lowering) {
  SmallVector<ValueView, 8> views;
  for (Value operand : op->getOperands())
    views.push_back(lowering.view(operand));
  while (views.back().isAbsent())
    views.pop_back();
  return views;
}

/// The first place of a page that this rank has, and how many all pages' places
/// are.
static NamedAttribute placesOf(const dist::DimSharding &places,
                               Lowering &lowering) {
  return lowering.scalars("places",
                          {places.lowerBound(lowering.mesh), places.size()});
}

LogicalResult PageWriteOp::lower(Lowering &lowering) {
  const auto places = dist::getSharding(getPool().getType()).dims[getAxis()];
  Lowering::Config config{lowering.ints("axis", {int64_t(getAxis())})};
  if (places.isSplit())
    config.push_back(placesOf(places, lowering));
  lowering.call(*this, "PageWrite", viewsOf(*this, lowering),
                {lowering.allocate(*this, getResult())}, config);
  return success();
}

LogicalResult PagedAttentionOp::lower(Lowering &lowering) {
  lowering.call(*this, "PagedAttention", viewsOf(*this, lowering),
                {lowering.allocate(*this, getResult())},
                lowering.order(*this, {"scale", "is_causal", "softcap",
                                       "window", "zero_rows"}));
  return success();
}

LogicalResult PagedAttentionPartsOp::lower(Lowering &lowering) {
  Lowering::Config config =
      Lowering::attributes(*this, {"scale", "is_causal", "softcap", "window"});
  config.push_back(
      placesOf(dist::getSharding(getKeys().getType()).dims[2], lowering));
  lowering.call(*this, "PagedAttentionParts", viewsOf(*this, lowering),
                {lowering.allocate(*this, getResult())}, config);
  return success();
}

LogicalResult MergeAttentionOp::lower(Lowering &lowering) {
  lowering.call(*this, "MergeAttention", viewsOf(*this, lowering),
                {lowering.allocate(*this, getResult())},
                Lowering::attributes(*this, {"zero_rows"}));
  return success();
}

} // namespace shardc::onnx
