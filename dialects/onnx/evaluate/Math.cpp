//===- Math.cpp - What Erf, Sqrt, Neg, ... compute ------------------------===//

#include "dialects/onnx/ops/Math.h"
#include "dialects/onnx/evaluate/Elementwise.h"

#include <cmath>

namespace shardc::onnx::evaluate {

template <typename OpTy, double (*f)(double)>
static void addFunction(Evaluators &all) {
  all.add<OpTy>([](Call &call) { return unary(call, f); });
}

static double signOf(double x) {
  return std::isnan(x) ? x : double((x > 0) - (x < 0));
}
static double reciprocal(double x) { return 1 / x; }
static double negated(double x) { return -x; }

void addMath(Evaluators &all) {
  addFunction<AbsOp, std::fabs>(all);
  addFunction<CeilOp, std::ceil>(all);
  addFunction<CosOp, std::cos>(all);
  addFunction<ErfOp, std::erf>(all);
  addFunction<ExpOp, std::exp>(all);
  addFunction<FloorOp, std::floor>(all);
  addFunction<LogOp, std::log>(all);
  addFunction<ReciprocalOp, reciprocal>(all);
  addFunction<RoundOp, std::nearbyint>(all); // ties to even
  addFunction<SignOp, signOf>(all);
  addFunction<SinOp, std::sin>(all);
  addFunction<SqrtOp, std::sqrt>(all);
  addFunction<AcosOp, std::acos>(all);
  addFunction<AcoshOp, std::acosh>(all);
  addFunction<AsinOp, std::asin>(all);
  addFunction<AsinhOp, std::asinh>(all);
  addFunction<AtanOp, std::atan>(all);
  addFunction<AtanhOp, std::atanh>(all);
  addFunction<CoshOp, std::cosh>(all);
  addFunction<SinhOp, std::sinh>(all);
  addFunction<TanOp, std::tan>(all);
  addFunction<NegOp, negated>(all);
}

} // namespace shardc::onnx::evaluate
