//===- Quantization.cpp - What QuantizeLinear and others compute ----------===//
//
//   y = clamp(round(x / scale) + zero point), and back (x - zero point) * scale
//
// in the form that they have after import: scales and zero points broadcast to
// the data, but for blocks along `axis`.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Quantization.h"
#include "dialects/onnx/evaluate/Elementwise.h"
#include "dialects/onnx/evaluate/Functions.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx::evaluate {

/// One number for each element of `shape`; of no type if there are others.
static Tensor spread(const Tensor &x, ArrayRef<int64_t> shape, int64_t axis,
                     int64_t block) {
  if (x.shape.size() != shape.size())
    return {};
  Tensor y(x.element, shape);
  const Shape strides = stridesOf(shape), own = stridesOf(x.shape);
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t size = block != 0 && int64_t(d) == axis
                             ? (shape[d] + block - 1) / block
                             : shape[d];
    if (x.shape[d] != 1 && x.shape[d] != size)
      return {};
  }
  for (int64_t i = 0; i < y.size(); ++i) {
    int64_t from = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t place = i / strides[d] % shape[d];
      if (block != 0 && int64_t(d) == axis)
        place /= block;
      from += x.shape[d] == 1 ? 0 : place * own[d];
    }
    y.data[i] = x.data[from];
  }
  return y;
}

/// f(x, scale, zero point) of each element.
template <typename OpTy, typename F> static Outcome scaled(Call &call, F f) {
  auto op = cast<OpTy>(call.op);
  const Tensor &x = call.operand(0);
  const int64_t axis = op.getAxis();
  const int64_t block = call.sizes.of(int64_t(op.getBlockSize()));
  Tensor *y = call.addResult();
  const Tensor scale = spread(call.operand(1), x.shape, axis, block);
  Tensor zero(x.element, x.shape);
  if (call.has(2))
    zero = spread(call.operand(2), x.shape, axis, block);
  if (!y || y->shape != x.shape || !scale.element || !zero.element)
    return Outcome::Unfit;
  for (int64_t i = 0; i < x.size(); ++i) {
    y->data[i] = f(y->element, x.data[i], scale.data[i], zero.data[i]);
    if (isa<IntegerType>(y->element) && std::isnan(y->data[i]))
      return Outcome::Invalid;
  }
  return Outcome::Done;
}

/// Ties go to the even number.
static double toInteger(Type element, double x, double scale, double zero) {
  auto type = cast<IntegerType>(element);
  const int width = int(type.getWidth());
  const double low = type.isUnsigned() ? 0 : -std::ldexp(1.0, width - 1);
  const double high = low + std::ldexp(1.0, width) - 1;
  const double y = std::nearbyint(x / scale) + zero;
  return y < low ? low : y > high ? high : y;
}

/// (A - a) (B - b), exactly.
static Outcome multiplyIntegers(Call &call) {
  auto centered = [&](unsigned i) {
    auto minus = [](double x, double zero) { return x - zero; };
    return call.has(i + 2)
               ? combined(call.operand(i), call.operand(i + 2), minus)
               : call.operand(i);
  };
  const Tensor a = centered(0), b = centered(1);
  if (!a.element || !b.element || a.shape != call.operand(0).shape ||
      b.shape != call.operand(1).shape)
    return Outcome::Unfit;
  bool overflows = false;
  Tensor y = product(a, b, overflows);
  return y.element ? call.finish(std::move(y)) : Outcome::Unfit;
}

void addQuantization(Evaluators &all) {
  all.add<DequantizeLinearOp>([](Call &call) {
    return scaled<DequantizeLinearOp>(
        call, [](Type, double x, double scale, double zero) {
          return (x - zero) * scale;
        });
  });
  all.add<QuantizeLinearOp>([](Call &call) {
    return isa<IntegerType>(call.resultElement())
               ? scaled<QuantizeLinearOp>(call, toInteger)
               : Outcome::Unknown;
  });
  all.add<MatMulIntegerOp>(multiplyIntegers);
}

} // namespace shardc::onnx::evaluate
