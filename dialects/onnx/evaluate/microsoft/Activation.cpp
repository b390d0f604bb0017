//===- Activation.cpp - What com.microsoft's GELUs compute ----------------===//

#include "dialects/onnx/ops/microsoft/Activation.h"
#include "dialects/onnx/evaluate/microsoft/Definition.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx::evaluate {

/// x times the share of a normal distribution that is below x.
static double byError(double x) {
  return x * (std::erfc(-x / std::sqrt(2.0)) / 2);
}

static double byTanh(double x) {
  const double inner = 0.7978845608028654 * (x + 0.044715 * std::pow(x, 3));
  return x * (1 + std::tanh(inner)) / 2;
}

/// f(x + bias), the bias along the last dim; the sum is of the operand's type.
template <typename F> static Outcome ofSum(Call &call, F f) {
  Definition d(call);
  const Tensor &x = *d.operand(0);
  const Tensor *bias = d.operand(1);
  if (bias && !reaches(*bias, x.shape))
    return Outcome::Unfit;
  Tensor &y = d.result(x.element, x.shape);
  forEachIndex(y.shape, [&](Index i) {
    const double value = at(x, i);
    at(y, i) = f(bias ? d.as(x.element, value + at(*bias, i)) : value);
  });
  return Outcome::Done;
}

void defineActivation(Evaluators &all) {
  all.add<MicrosoftGeluOp>([](Call &call) { return ofSum(call, byError); });
  all.add<MicrosoftBiasGeluOp>([](Call &call) { return ofSum(call, byError); });
  all.add<MicrosoftFastGeluOp>([](Call &call) { return ofSum(call, byTanh); });
  all.add<MicrosoftQuickGeluOp>([](Call &call) {
    const double alpha =
        cast<MicrosoftQuickGeluOp>(call.op).getAlpha().convertToFloat();
    return ofSum(
        call, [=](double x) { return x * (1 / (1 + std::exp(-alpha * x))); });
  });
}

} // namespace shardc::onnx::evaluate
