//===- Activation.cpp - com.microsoft: GELUs ------------------------------===//

#include "dialects/onnx/ops/microsoft/Activation.h"

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Activation.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/microsoft/Activation.cpp.inc"

namespace shardc::onnx {

LogicalResult MicrosoftGeluOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  return d.replaceBy({d.make<GeluOp>({getInput()})});
}

/// A number for each of the input's last dim.
static LogicalResult expectBias(Decomposition &d, Value input, Value bias) {
  const Decomposition::Dims dims = d.dims(input);
  return dims.empty() ? d.op->emitOpError("has an input without dims")
                      : d.expectDims(bias, dims.back(), "a bias");
}

LogicalResult MicrosoftBiasGeluOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  if (failed(expectBias(d, getInput(), getBias())))
    return failure();
  return d.replaceBy({d.make<GeluOp>({d.add(getInput(), getBias())})});
}

LogicalResult MicrosoftFastGeluOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  Value input = getInput();
  if (Value bias = d.operand(1)) {
    if (failed(expectBias(d, input, bias)))
      return failure();
    input = d.add(input, bias);
  }
  return d.replaceBy(
      {d.make<GeluOp>({input}, d.attribute("approximate", "tanh"))});
}

LogicalResult MicrosoftQuickGeluOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  Value alpha = d.number(d.element(getInput()), getAlpha().convertToDouble());
  Value gate = d.make<SigmoidOp>({d.mul(getInput(), alpha)});
  return d.replaceBy({d.mul(getInput(), gate)});
}

} // namespace shardc::onnx
