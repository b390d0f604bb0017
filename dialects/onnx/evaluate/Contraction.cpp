//===- Contraction.cpp - What MatMul and Gemm compute ---------------------===//

#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/evaluate/Elementwise.h"
#include "dialects/onnx/evaluate/Functions.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx::evaluate {

/// Whether a sum of finite products is beyond what the type holds.
static bool leavesRange(double sum, double largest, bool isFinite) {
  return isFinite && !(std::abs(sum) <= largest);
}

Tensor product(const Tensor &a, const Tensor &b, bool &overflows) {
  Shape left = a.shape, right = b.shape;
  if (left.empty() || right.empty())
    return {};
  const bool isRow = left.size() == 1, isColumn = right.size() == 1;
  if (isRow)
    left.insert(left.begin(), 1);
  if (isColumn)
    right.push_back(1);
  const int64_t m = left[left.size() - 2], k = left.back();
  const int64_t n = right.back();
  if (right[right.size() - 2] != k)
    return {};
  const Shape leftBatch(left.begin(), left.end() - 2);
  const Shape rightBatch(right.begin(), right.end() - 2);
  Shape batch = leftBatch;
  if (!broadcast(batch, rightBatch))
    return {};
  Shape whole = batch;
  whole.append({m, n});
  Tensor y(a.element, whole);
  const bool isFloat = isa<FloatType>(a.element);
  const double largest = isFloat ? largestOf(a.element) : INFINITY;
  double *to = y.data.data();
  forEachPosition<2>(
      batch,
      {broadcastStrides(leftBatch, batch), broadcastStrides(rightBatch, batch)},
      [&](const int64_t (&at)[2]) {
        const double *x = a.data.data() + at[0] * m * k;
        const double *w = b.data.data() + at[1] * k * n;
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            double sum = 0;
            bool isFinite = true;
            for (int64_t l = 0; l < k; ++l) {
              const double factor = x[i * k + l], other = w[l * n + j];
              isFinite &= std::isfinite(factor) && std::isfinite(other);
              sum += factor * other;
            }
            overflows |= leavesRange(sum, largest, isFinite);
            *to++ = sum;
          }
      });
  if (isColumn)
    y.shape.pop_back();
  if (isRow)
    y.shape.erase(y.shape.end() - (isColumn ? 1 : 2));
  return y;
}

static Tensor transposed(const Tensor &x, bool swaps) {
  if (!swaps)
    return x;
  Tensor y(x.element, {x.shape[1], x.shape[0]});
  for (int64_t i = 0; i < y.shape[0]; ++i)
    for (int64_t j = 0; j < y.shape[1]; ++j)
      y.data[i * y.shape[1] + j] = x.data[j * y.shape[0] + i];
  return y;
}

/// alpha A B + beta C
static Outcome gemm(Call &call) {
  auto op = cast<GemmOp>(call.op);
  if (call.operand(0).rank() != 2 || call.operand(1).rank() != 2)
    return Outcome::Unfit;
  const double alpha = op.getAlpha().convertToFloat();
  const double beta = op.getBeta().convertToFloat();
  Tensor y =
      product(transposed(call.operand(0), op.getTransA()),
              transposed(call.operand(1), op.getTransB()), call.overflows);
  if (y.element && call.has(2))
    y = combined(y, call.operand(2),
                 [=](double x, double c) { return alpha * x + beta * c; });
  else
    y = mapped(y, [=](double x) { return alpha * x; });
  return y.element ? call.finish(std::move(y)) : Outcome::Unfit;
}

void addContraction(Evaluators &all) {
  all.add<MatMulOp>([](Call &call) {
    Tensor y = product(call.operand(0), call.operand(1), call.overflows);
    return y.element ? call.finish(std::move(y)) : Outcome::Unfit;
  });
  all.add<GemmOp>(gemm);
}

} // namespace shardc::onnx::evaluate
