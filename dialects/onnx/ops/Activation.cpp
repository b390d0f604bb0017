//===- Activation.cpp - Shape functions and sharding rules ----------------===//

#include "dialects/onnx/ops/Activation.h"

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/Folding.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Activation.cpp.inc"

namespace shardc::onnx {

void OnnxDialect::registerActivationOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Activation.cpp.inc"
      >();
}

/// Bounds that are attributes become operands.
static void addBounds(ClipOp op, ShapeInference &inference) {
  if (!op.getMin() && !op.getMax())
    return;
  Decomposition d(op, inference);
  Type element = inference.element(op.getInput());
  SmallVector<Value> operands = {op.getInput()};
  for (std::optional<APFloat> bound : {op.getMin(), op.getMax()})
    operands.push_back(bound ? d.number(element, bound->convertToDouble())
                             : d.absent());
  op->setOperands(operands);
  op.removeMinAttr();
  op.removeMaxAttr();
}

LogicalResult ClipOp::inferTypes(ShapeInference &inference) {
  addBounds(*this, inference);
  inference.dropAbsentTail(*this);
  // One bound after the other, as known values.
  const KnownValue *input = inference.known(getInput());
  std::optional<KnownValue> value =
      input ? std::optional<KnownValue>(*input) : std::nullopt;
  FoldSite site{*this, inference, inference.element(getInput())};
  for (auto [i, bound] : llvm::enumerate(getBounds())) {
    if (!value || !ShapeInference::isPresent(bound))
      continue;
    const KnownValue *limit = inference.known(bound);
    for (KnownScalar &scalar : value->elements) {
      std::optional<KnownScalar> clipped;
      if (limit)
        clipped = i == 0 ? fold::max(site, scalar, limit->elements[0])
                         : fold::min(site, scalar, limit->elements[0]);
      if (!clipped) {
        value.reset();
        break;
      }
      scalar = *clipped;
    }
  }
  if (value)
    inference.setKnown(getResult(), std::move(*value));
  else
    inference.setType(getResult(), site.element, inference.dims(getInput()));
  return success();
}

ShardingRule ClipOp::shardingRule() { return elementwiseRule(*this); }

} // namespace shardc::onnx
