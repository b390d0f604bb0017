//===- Experts.cpp - What MixtureOfExperts computes -----------------------===//
//
// Spelt out, choice by choice: the row of a token times the matrix of the
// expert that was chosen, an activation, the second product; and the weighted
// sum of a token's choices.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Experts.h"
#include "dialects/onnx/evaluate/Evaluate.h"
#include "dialects/onnx/evaluate/Functions.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx::evaluate {

static double activated(MixtureOfExpertsOp op, double x) {
  const StringRef name = op.getActivation();
  return name == "silu"        ? swish(x, op.getAlpha().convertToFloat())
         : name == "gelu"      ? gelu(x)
         : name == "gelu_tanh" ? geluByTanh(x)
         : name == "relu"      ? (x < 0 ? 0 : x)
                               : x;
}

/// What is between the products: of a row of h numbers one of f.
static Tensor hiddenOf(MixtureOfExpertsOp op, const Tensor &row,
                       Precision precision) {
  auto kept = [&](double v) { return stored(row.element, v, precision); };
  if (op.getGate() == "none") {
    Tensor y = row;
    for (double &x : y.data)
      x = kept(activated(op, x));
    return y;
  }
  const bool isInterleaved = op.getGate() == "interleaved";
  const int64_t half = row.size() / 2;
  const double limit =
      op.getLimit() ? op.getLimit()->convertToFloat() : INFINITY;
  const double shift = op.getShift().convertToFloat();
  Tensor y(row.element, {1, half});
  for (int64_t i = 0; i < half; ++i) {
    const double g = row.data[isInterleaved ? 2 * i : i];
    const double u = row.data[isInterleaved ? 2 * i + 1 : half + i];
    const double clipped = u > limit ? limit : u < -limit ? -limit : u;
    y.data[i] = kept(kept(activated(op, g > limit ? limit : g)) *
                     kept(clipped + shift));
  }
  return y;
}

/// Matrix i of a stack.
static Tensor matrixOf(const Tensor &stack, int64_t i) {
  Tensor y(stack.element, {stack.shape[1], stack.shape[2]});
  std::copy_n(stack.data.begin() + i * y.size(), y.size(), y.data.begin());
  return y;
}

static Outcome mix(Call &call) {
  auto op = cast<MixtureOfExpertsOp>(call.op);
  const Tensor &tokens = call.operand(0), &indices = call.operand(1);
  const Tensor &weights = call.operand(2), &up = call.operand(3);
  const Tensor &down = call.operand(4);
  if (tokens.rank() != 2 || indices.rank() != 2 || up.rank() != 3 ||
      down.rank() != 3 || weights.shape != indices.shape ||
      indices.shape[0] != tokens.shape[0] || up.shape[1] != tokens.shape[1] ||
      up.shape[0] != down.shape[0])
    return Outcome::Unfit;
  const bool isSum = !op.getKeepsChoices();
  Tensor y(tokens.element, {tokens.shape[0], down.shape[2]});
  if (!isSum)
    y = Tensor(tokens.element,
               {tokens.shape[0], indices.shape[1], down.shape[2]});
  const Type wide = computedIn(tokens.element);
  auto kept = [&](double v) { return stored(wide, v, call.precision); };
  const int64_t choices = indices.shape[1], width = tokens.shape[1];
  for (int64_t i = 0; i < indices.size(); ++i) {
    int64_t expert = integerOf(indices.data[i]).value_or(up.shape[0]);
    expert += expert < 0 ? up.shape[0] : 0;
    if (expert < 0 || expert >= up.shape[0])
      return Outcome::Invalid;
    const int64_t token = i / choices;
    Tensor row(wide, {1, width});
    std::copy_n(tokens.data.begin() + token * width, width, row.data.begin());
    row = product(row, matrixOf(up, expert), call.overflows);
    if (call.has(5))
      for (int64_t j = 0; j < row.size(); ++j)
        row.data[j] += call.operand(5).data[expert * row.size() + j];
    row = product(hiddenOf(op, row, call.precision), matrixOf(down, expert),
                  call.overflows);
    if (!row.element)
      return Outcome::Unfit;
    for (int64_t j = 0; j < row.size(); ++j) {
      double &sum = y.data[(isSum ? token : i) * row.size() + j];
      sum += kept(weights.data[i] * kept(row.data[j]));
    }
  }
  return call.finish(std::move(y));
}

void addExperts(Evaluators &all) { all.add<MixtureOfExpertsOp>(mix); }

} // namespace shardc::onnx::evaluate
