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

LogicalResult PageWriteOp::lower(Lowering &lowering) {
  lowering.call(*this, "PageWrite", viewsOf(*this, lowering),
                {lowering.allocate(*this, getResult())},
                {lowering.ints("axis", {int64_t(getAxis())})});
  return success();
}

LogicalResult PagedAttentionOp::lower(Lowering &lowering) {
  lowering.call(*this, "PagedAttention", viewsOf(*this, lowering),
                {lowering.allocate(*this, getResult())},
                Lowering::attributes(*this, {"scale", "is_causal", "softcap",
                                             "window", "zero_rows"}));
  return success();
}

} // namespace shardc::onnx
