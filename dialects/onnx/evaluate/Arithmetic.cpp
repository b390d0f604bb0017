//===- Arithmetic.cpp - What Add, Mul, Pow, ... compute -------------------===//

#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/evaluate/Elementwise.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx::evaluate {

static bool hasZero(const Tensor &x) { return llvm::is_contained(x.data, 0.0); }

static Outcome divide(Call &call) {
  if (!isInteger(call.operand(0)))
    return binary(call, [](double a, double b) { return a / b; });
  if (hasZero(call.operand(1)))
    return Outcome::Invalid;
  return binary(call, [](double a, double b) { return std::trunc(a / b); });
}

/// The remainder has the sign of the divisor, or with fmod of the dividend.
static Outcome modulo(Call &call) {
  if (isInteger(call.operand(0)) && hasZero(call.operand(1)))
    return Outcome::Invalid;
  if (cast<ModOp>(call.op).getFmod())
    return binary(call, [](double a, double b) { return std::fmod(a, b); });
  return binary(call, [](double a, double b) {
    const double rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  });
}

/// The first number that is NaN; else the one that `isBetter`.
template <typename F> static Outcome chosen(Call &call, F isBetter) {
  Tensor result = call.operand(0);
  for (const Tensor *next : call.operands.drop_front()) {
    result = combined(result, *next, [&](double a, double b) {
      return std::isnan(a) || (!std::isnan(b) && !isBetter(b, a)) ? a : b;
    });
    if (!result.element)
      return Outcome::Unfit;
  }
  return call.finish(std::move(result));
}

void addArithmetic(Evaluators &all) {
  all.add<AddOp>([](Call &call) {
    return binary(call, [](double a, double b) { return a + b; });
  });
  all.add<SubOp>([](Call &call) {
    return binary(call, [](double a, double b) { return a - b; });
  });
  all.add<MulOp>([](Call &call) {
    return binary(call, [](double a, double b) { return a * b; });
  });
  all.add<DivOp>(divide);
  all.add<ModOp>(modulo);
  all.add<PowOp>([](Call &call) {
    const bool truncates = isInteger(call.operand(0));
    return binary(call, [=](double a, double b) {
      const double power = std::pow(a, b);
      return truncates ? std::trunc(power) : power;
    });
  });
  all.add<PReluOp>([](Call &call) {
    return binary(call, [](double x, double s) { return x < 0 ? s * x : x; });
  });
  all.add<MinOp>([](Call &call) {
    return chosen(call, [](double a, double b) { return a < b; });
  });
  all.add<MaxOp>([](Call &call) {
    return chosen(call, [](double a, double b) { return a > b; });
  });
}

} // namespace shardc::onnx::evaluate
