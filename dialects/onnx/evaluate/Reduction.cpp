//===- Reduction.cpp - What ReduceSum, ArgMax, CumSum, ... compute --------===//

#include "dialects/onnx/ops/Reduction.h"
#include "dialects/onnx/evaluate/Evaluate.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx::evaluate {

/// step folds an element into a sum that starts as `first`, finish makes the
/// result of it and of the number of elements.
template <typename Step, typename Finish>
static Outcome reduce(Call &call, double first, Step step, Finish finish) {
  auto axes = call.op->getAttrOfType<DenseI64ArrayAttr>("axes");
  const Tensor &x = call.operand(0);
  Tensor *y = call.addResult();
  if (!axes || call.operands.size() != 1)
    return Outcome::Unknown;
  if (!y)
    return Outcome::Unfit;
  Shape kept = x.shape;
  for (int64_t axis : axes.asArrayRef())
    kept[axis] = 1;
  if (countOf(kept) != y->size())
    return Outcome::Unfit;
  Shape strides = stridesOf(kept);
  for (int64_t axis : axes.asArrayRef())
    strides[axis] = 0;
  llvm::fill(y->data, first);
  int64_t i = 0;
  forEachPosition<1>(x.shape, {strides}, [&](const int64_t (&at)[1]) {
    double &sum = y->data[at[0]];
    sum = step(sum, x.data[i++]);
  });
  const double count = y->size() == 0 ? 0 : double(x.size()) / y->size();
  for (double &sum : y->data)
    sum = finish(sum, count);
  return Outcome::Done;
}

static double asIs(double sum, double) { return sum; }
static double rootOf(double sum, double) { return std::sqrt(sum); }
static double plus(double sum, double x) { return sum + x; }
static double plusSquare(double sum, double x) { return sum + x * x; }
static double larger(double sum, double x) {
  return std::isnan(sum) || sum >= x ? sum : x;
}
static double smaller(double sum, double x) {
  return std::isnan(sum) || sum <= x ? sum : x;
}

/// What is no larger, or no smaller, than any element.
static double boundOf(Call &call, bool isLowest) {
  const Type type = call.resultElement();
  if (type.isInteger(1))
    return isLowest ? 0 : 1;
  const double bound = isa<FloatType>(type) ? INFINITY : 9223372036854775808.0;
  return isLowest ? -bound : bound;
}

static Outcome mean(Call &call) {
  const bool truncates = isa<IntegerType>(call.resultElement());
  return reduce(call, 0, plus, [=](double sum, double count) {
    return truncates ? std::trunc(sum / count) : sum / count;
  });
}

/// Relative to the largest, as large numbers have no exponential.
static Outcome logSumExp(Call &call) {
  double largest = -INFINITY;
  for (double x : call.operand(0).data)
    largest = larger(largest, x);
  if (!std::isfinite(largest))
    largest = 0;
  return reduce(
      call, 0,
      [=](double sum, double x) { return sum + std::exp(x - largest); },
      [=](double sum, double) { return std::log(sum) + largest; });
}

template <bool isMax, typename OpTy> static Outcome best(Call &call) {
  auto op = cast<OpTy>(call.op);
  const Tensor &x = call.operand(0);
  const int64_t axis = op.getAxis();
  Tensor *y = call.addResult();
  if (!y || axis >= x.rank())
    return Outcome::Unfit;
  const int64_t size = x.shape[axis], step = stridesOf(x.shape)[axis];
  if (size == 0 || y->size() != x.size() / size)
    return size == 0 ? Outcome::Invalid : Outcome::Unfit;
  for (int64_t line = 0; line < y->size(); ++line) {
    auto at = [&](int64_t i) {
      return x.data[(line / step * size + i) * step + line % step];
    };
    int64_t found = 0;
    for (int64_t i = 1; i < size; ++i) {
      const double a = at(i), b = at(found);
      const bool isEqual = a == b || (std::isnan(a) && std::isnan(b));
      const bool isBetter =
          !std::isnan(b) && (std::isnan(a) || (isMax ? a > b : a < b));
      if (isBetter || (isEqual && op.getSelectLastIndex()))
        found = i;
    }
    y->data[line] = double(found);
  }
  return Outcome::Done;
}

template <typename OpTy, typename F>
static Outcome scan(Call &call, double first, F step) {
  auto op = cast<OpTy>(call.op);
  if (!op.getAxis())
    return Outcome::Unknown;
  const Tensor &x = call.operand(0);
  Tensor y = x;
  const int64_t axis = *op.getAxis();
  if (axis < 0 || axis >= x.rank())
    return Outcome::Unfit;
  const int64_t size = x.shape[axis], stride = stridesOf(x.shape)[axis];
  const int64_t lines = size == 0 ? 0 : x.size() / size;
  for (int64_t line = 0; line < lines; ++line) {
    double sum = first;
    for (int64_t n = 0; n < size; ++n) {
      const int64_t i = op.getReverse() ? size - 1 - n : n;
      const int64_t at = (line / stride * size + i) * stride + line % stride;
      const double next = step(sum, x.data[at]);
      y.data[at] = op.getExclusive() ? sum : next;
      sum = next;
    }
  }
  return call.finish(std::move(y));
}

void addReduction(Evaluators &all) {
  all.add<ReduceSumOp>([](Call &call) { return reduce(call, 0, plus, asIs); });
  all.add<ReduceMeanOp>(mean);
  all.add<ReduceMaxOp>([](Call &call) {
    return reduce(call, boundOf(call, true), larger, asIs);
  });
  all.add<ReduceMinOp>([](Call &call) {
    return reduce(call, boundOf(call, false), smaller, asIs);
  });
  all.add<ReduceProdOp>([](Call &call) {
    return reduce(call, 1, [](double a, double b) { return a * b; }, asIs);
  });
  all.add<ReduceL1Op>([](Call &call) {
    return reduce(
        call, 0, [](double sum, double x) { return sum + std::abs(x); }, asIs);
  });
  all.add<ReduceL2Op>(
      [](Call &call) { return reduce(call, 0, plusSquare, rootOf); });
  all.add<ReduceSumSquareOp>(
      [](Call &call) { return reduce(call, 0, plusSquare, asIs); });
  all.add<ReduceLogSumExpOp>(logSumExp);
  all.add<ArgMaxOp>(best<true, ArgMaxOp>);
  all.add<ArgMinOp>(best<false, ArgMinOp>);
  all.add<CumSumOp>([](Call &call) { return scan<CumSumOp>(call, 0, plus); });
  all.add<CumProdOp>([](Call &call) {
    return scan<CumProdOp>(call, 1, [](double a, double b) { return a * b; });
  });
}

} // namespace shardc::onnx::evaluate
