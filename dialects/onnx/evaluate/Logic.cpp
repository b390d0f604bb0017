//===- Logic.cpp - What comparisons, Where, ... compute -------------------===//

#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/evaluate/Elementwise.h"

#include <cmath>
#include <functional>

namespace shardc::onnx::evaluate {

/// A function of two elements that gives a bool.
template <typename OpTy, typename F>
static void addPredicate(Evaluators &all, F) {
  all.add<OpTy>([](Call &call) {
    return binary(call, [](double a, double b) { return double(F()(a, b)); });
  });
}

struct Xor {
  bool operator()(double a, double b) const { return (a != 0) != (b != 0); }
};

static Outcome choose(Call &call) {
  const Tensor &condition = call.operand(0);
  const Tensor *values[] = {&call.operand(2), &call.operand(1)};
  Shape shape = condition.shape;
  if (!broadcast(shape, values[0]->shape) ||
      !broadcast(shape, values[1]->shape))
    return Outcome::Unfit;
  Tensor result(values[0]->element, shape);
  double *to = result.data.data();
  forEachPosition<3>(shape,
                     {broadcastStrides(values[0]->shape, shape),
                      broadcastStrides(values[1]->shape, shape),
                      broadcastStrides(condition.shape, shape)},
                     [&](const int64_t (&at)[3]) {
                       const bool isTrue = condition.data[at[2]] != 0;
                       *to++ = values[isTrue]->data[at[isTrue]];
                     });
  return call.finish(std::move(result));
}

static Outcome isInfinite(Call &call) {
  auto op = llvm::cast<IsInfOp>(call.op);
  const bool below = op.getDetectNegative(), above = op.getDetectPositive();
  return unary(call, [=](double x) {
    return double(std::isinf(x) && (x < 0 ? below : above));
  });
}

void addLogic(Evaluators &all) {
  addPredicate<EqualOp>(all, std::equal_to<double>());
  addPredicate<LessOp>(all, std::less<double>());
  addPredicate<LessOrEqualOp>(all, std::less_equal<double>());
  addPredicate<GreaterOp>(all, std::greater<double>());
  addPredicate<GreaterOrEqualOp>(all, std::greater_equal<double>());
  addPredicate<AndOp>(all, std::logical_and<double>());
  addPredicate<OrOp>(all, std::logical_or<double>());
  addPredicate<XorOp>(all, Xor());
  all.add<NotOp>([](Call &call) {
    return unary(call, [](double x) { return double(x == 0); });
  });
  all.add<IsNaNOp>([](Call &call) {
    return unary(call, [](double x) { return double(std::isnan(x)); });
  });
  all.add<IsInfOp>(isInfinite);
  all.add<WhereOp>(choose);
}

} // namespace shardc::onnx::evaluate
