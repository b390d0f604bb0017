//===- Normalization.cpp - What Softmax and norms compute -----------------===//
//
// The norms are spelt out. Statistics are of a wide type, whatever the operand
// is of; without a bias what is normalized is rounded before its scale.
//
//   RMS:    round(x / sqrt(mean(x^2) + eps)) w
//   layer:  (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) w + b
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Normalization.h"
#include "dialects/onnx/evaluate/Elementwise.h"
#include "dialects/onnx/evaluate/Functions.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx::evaluate {

Type computedIn(Type element) {
  return element.isF64() ? element
                         : Type(Float32Type::get(element.getContext()));
}

Tensor softmax(const Tensor &x, int64_t axis, bool isLog) {
  Tensor y = x;
  const int64_t size = x.shape[axis], step = stridesOf(x.shape)[axis];
  const int64_t lines = size == 0 ? 0 : x.size() / size;
  for (int64_t line = 0; line < lines; ++line) {
    double *row = y.data.data() + line / step * size * step + line % step;
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < size; ++i)
      largest = row[i * step] > largest || std::isnan(row[i * step])
                    ? row[i * step]
                    : largest;
    for (int64_t i = 0; i < size; ++i)
      sum += std::exp(row[i * step] - largest);
    for (int64_t i = 0; i < size; ++i) {
      double &value = row[i * step];
      value = isLog ? value - largest - std::log(sum)
                    : std::exp(value - largest) / sum;
    }
  }
  return y;
}

/// Mean and 1 / sqrt(mean square + epsilon) of a row, in the wide type.
static std::pair<double, double> statisticsOf(ArrayRef<double> row, Type wide,
                                              double epsilon, bool isCentered,
                                              Precision precision) {
  auto kept = [&](double value) { return stored(wide, value, precision); };
  double mean = 0, square = 0;
  if (isCentered) {
    for (double x : row)
      mean += x;
    mean = kept(mean / double(row.size()));
  }
  for (double x : row)
    square += kept(kept(x - mean) * kept(x - mean));
  const double root =
      kept(std::sqrt(kept(kept(square / double(row.size())) + epsilon)));
  return {mean, kept(1 / root)};
}

static Outcome normalize(Call &call, int64_t axis, double epsilon,
                         bool isCentered) {
  const Tensor &x = call.operand(0);
  if (axis < 0 || axis > x.rank())
    return Outcome::Unfit;
  const Type wide = computedIn(x.element);
  auto kept = [&](double v) { return stored(wide, v, call.precision); };
  const int64_t size = countOf(ArrayRef<int64_t>(x.shape).drop_front(axis));
  Tensor y = x, mean, inverse;
  mean.shape.assign(x.shape.begin(), x.shape.begin() + axis);
  mean.shape.resize(x.rank(), 1);
  inverse.shape = mean.shape;
  for (int64_t at = 0; size > 0 && at < x.size(); at += size) {
    auto [center, factor] =
        statisticsOf(ArrayRef<double>(x.data).slice(at, size), wide, epsilon,
                     isCentered, call.precision);
    for (int64_t i = at; i < at + size; ++i)
      y.data[i] = kept(kept(x.data[i] - center) * factor);
    mean.data.push_back(center);
    inverse.data.push_back(factor);
  }
  const bool hasBias = call.has(2);
  if (!hasBias)
    store(y, call.precision);
  y = combined(y, call.operand(1), [](double a, double b) { return a * b; });
  if (y.element && hasBias)
    y = combined(y, call.operand(2),
                 [&](double a, double b) { return kept(a) + b; });
  if (!y.element)
    return Outcome::Unfit;
  call.finish(std::move(y));
  if (call.op->getNumResults() > 1)
    call.finish(std::move(mean));
  if (call.op->getNumResults() > 2)
    call.finish(std::move(inverse));
  return Outcome::Done;
}

void addNormalization(Evaluators &all) {
  all.add<SoftmaxOp>([](Call &call) {
    return call.finish(
        softmax(call.operand(0), cast<SoftmaxOp>(call.op).getAxis()));
  });
  all.add<LogSoftmaxOp>([](Call &call) {
    return call.finish(
        softmax(call.operand(0), cast<LogSoftmaxOp>(call.op).getAxis(), true));
  });
  all.add<LayerNormalizationOp>([](Call &call) {
    auto op = cast<LayerNormalizationOp>(call.op);
    return normalize(call, op.getAxis(), op.getEpsilon().convertToFloat(),
                     true);
  });
  all.add<RMSNormalizationOp>([](Call &call) {
    auto op = cast<RMSNormalizationOp>(call.op);
    return normalize(call, op.getAxis(), op.getEpsilon().convertToFloat(),
                     false);
  });
}

} // namespace shardc::onnx::evaluate
