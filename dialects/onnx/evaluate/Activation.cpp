//===- Activation.cpp - What Relu, Gelu, Clip, ... compute ----------------===//
//
// Gelu and Swish are spelt as ONNX spells them, in the type of kernels.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Activation.h"
#include "dialects/onnx/evaluate/Elementwise.h"
#include "dialects/onnx/evaluate/Functions.h"

#include <cmath>

using namespace llvm;

namespace shardc::onnx::evaluate {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// x * sigmoid(alpha x)
double swish(double x, double alpha) { return x * sigmoid(alpha * x); }

/// 0.5 x (1 + erf(x / sqrt(2)))
double gelu(double x) { return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5))); }

/// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
double geluByTanh(double x) {
  return 0.5 * x *
         (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}
static double clamp01(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

/// A NaN bound, or one of the wrong order, is as ONNX has it: min(max(x, low),
/// high).
static Outcome clip(Call &call) {
  double low = -INFINITY, high = INFINITY;
  for (unsigned i : {1u, 2u})
    if (call.has(i)) {
      if (call.operand(i).size() != 1)
        return Outcome::Unfit;
      (i == 1 ? low : high) = call.operand(i).data[0];
    }
  return unary(call, [=](double x) {
    x = x < low ? low : x;
    return x > high ? high : x;
  });
}

static void addSmooth(Evaluators &all) {
  all.add<SigmoidOp>([](Call &call) { return unary(call, sigmoid); });
  all.add<TanhOp>([](Call &call) {
    return unary(call, [](double x) { return std::tanh(x); });
  });
  all.add<SoftplusOp>([](Call &call) { return unary(call, softplus); });
  all.add<SoftsignOp>([](Call &call) {
    return unary(call, [](double x) { return x / (1 + std::abs(x)); });
  });
  all.add<MishOp>([](Call &call) {
    return unary(call, [](double x) { return x * std::tanh(softplus(x)); });
  });
  all.add<GeluOp>([](Call &call) {
    return cast<GeluOp>(call.op).getApproximate() == "tanh"
               ? unary(call, geluByTanh)
               : unary(call, gelu);
  });
  all.add<SwishOp>([](Call &call) {
    const double alpha = cast<SwishOp>(call.op).getAlpha().convertToFloat();
    return unary(call, [=](double x) { return swish(x, alpha); });
  });
}

void addActivation(Evaluators &all) {
  addSmooth(all);
  all.add<ReluOp>([](Call &call) {
    return unary(call, [](double x) { return x < 0 ? 0 : x; });
  });
  all.add<HardSwishOp>([](Call &call) {
    return unary(call, [](double x) { return x * clamp01(x / 6 + 0.5); });
  });
  all.add<LeakyReluOp>([](Call &call) {
    const double alpha = cast<LeakyReluOp>(call.op).getAlpha().convertToFloat();
    return unary(call, [=](double x) { return x < 0 ? alpha * x : x; });
  });
  all.add<EluOp>([](Call &call) {
    const double alpha = cast<EluOp>(call.op).getAlpha().convertToFloat();
    return unary(call,
                 [=](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
  });
  all.add<HardSigmoidOp>([](Call &call) {
    auto op = cast<HardSigmoidOp>(call.op);
    const double alpha = op.getAlpha().convertToFloat();
    const double beta = op.getBeta().convertToFloat();
    return unary(call, [=](double x) { return clamp01(alpha * x + beta); });
  });
  all.add<ClipOp>(clip);
}

} // namespace shardc::onnx::evaluate
