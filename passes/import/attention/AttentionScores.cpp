//===- AttentionScores.cpp - The chain in front of a softmax --------------===//

#include "passes/import/attention/AttentionScores.h"

#include "dialects/onnx/ops/Activation.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Reduction.h"
#include "passes/import/Matching.h"

#include <cmath>

using namespace mlir;

namespace shardc::import {

using namespace onnx;

/// v and c for v * c or v / c, with c != 0; v has the dims of the product.
static Value factorOf(Value value, double &factor) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<MulOp, DivOp>(op))
    return {};
  for (unsigned i : {1u, 0u}) {
    std::optional<double> constant = splatConstant(op->getOperand(i));
    Value other = op->getOperand(1 - i);
    if (!constant || !(std::isfinite(*constant) && *constant != 0) ||
        !haveSameDims(other, value) || (isa<DivOp>(op) && i == 0))
      continue;
    factor = isa<DivOp>(op) ? 1 / *constant : *constant;
    return other;
  }
  return {};
}

Value unscaled(Value value, double &scale) {
  double factor;
  while (Value inner = factorOf(value, factor)) {
    scale *= factor;
    value = inner;
  }
  return value;
}

namespace {

/// cap * tanh(input / cap)
struct Capped {
  Value input;
  double cap;
};

} // namespace

static std::optional<Capped> readCap(Value value) {
  double outer = 1, inner = 1;
  Value capped = factorOf(value, outer);
  auto tanh = capped ? capped.getDefiningOp<TanhOp>() : TanhOp();
  Value input = tanh ? factorOf(tanh.getInput(), inner) : Value();
  if (!input || outer <= 0 || !isClose(outer * inner, 1, elementOf(value), 2))
    return std::nullopt;
  return Capped{input, outer};
}

/// Product, scale and cap.
static std::optional<AttentionScores> readProduct(Value value) {
  AttentionScores scores;
  if (std::optional<Capped> capped = readCap(value)) {
    scores.softcap = capped->cap;
    value = capped->input;
  }
  value = unscaled(value, scores.scale);
  auto product = value.getDefiningOp<MatMulOp>();
  if (!product || dimsOf(product.getLhs()).size() != 4 ||
      dimsOf(product.getRhs()).size() != 4)
    return std::nullopt;
  scores.query = unscaled(product.getLhs(), scores.scale);
  scores.transposedKey = unscaled(product.getRhs(), scores.scale);
  return scores;
}

/// The number that a Where gives instead of its other operand, if it is small
/// enough that a score added to it is that number again.
static std::optional<double> lowOf(Value value) {
  std::optional<double> low = splatConstant(value);
  bool isLow = low && (*low == -INFINITY ||
                       (*low < -1e30 && !isa<Float16Type>(elementOf(value))));
  return isLow ? low : std::nullopt;
}

/// What operand `i` of `op` is before `op` does something to it that a mask
/// does; nothing if it is no such op.
static std::optional<MaskStep> readStep(Operation *op, unsigned i) {
  if (isa<AddOp>(op))
    return MaskStep{MaskStep::Add, op->getOperand(1 - i)};
  if (isa<MaxOp>(op) && op->getNumOperands() == 2)
    if (std::optional<double> low = lowOf(op->getOperand(1 - i)))
      return MaskStep{MaskStep::Floor, {}, *low};
  if (isa<WhereOp>(op) && i > 0)
    if (std::optional<double> low = lowOf(op->getOperand(3 - i)))
      return MaskStep{MaskStep::Fill, op->getOperand(0), *low, i == 2};
  return std::nullopt;
}

static std::optional<AttentionScores> readMasked(Value value, unsigned limit);

/// (x + mask) * factor as x * factor + mask * factor. A larger factor could make
/// an infinity of a low number.
static std::optional<AttentionScores> readScaled(Value value, unsigned limit) {
  double factor;
  Value inner = factorOf(value, factor);
  if (!inner || factor <= 0 || factor > 1)
    return std::nullopt;
  std::optional<AttentionScores> scores = readMasked(inner, limit);
  if (!scores || scores->softcap > 0)
    return std::nullopt;
  scores->scale *= factor;
  if (!scores->masks.empty()) // a floor below which no score is, is none
    scores->masks.push_back({MaskStep::Scale, {}, 0, false, factor});
  return scores;
}

/// With at most `limit` steps of a mask behind the product.
static std::optional<AttentionScores> readMasked(Value value, unsigned limit) {
  if (auto scores = readProduct(value))
    return scores;
  Operation *op = value.getDefiningOp();
  if (limit > 0 && isa_and_nonnull<MulOp, DivOp>(op))
    return readScaled(value, limit - 1);
  for (unsigned i = 0; op && limit > 0 && i < op->getNumOperands(); ++i) {
    Value inner = op->getOperand(i);
    std::optional<MaskStep> step = readStep(op, i);
    if (!step || !haveSameDims(inner, value))
      continue;
    if (auto scores = readMasked(inner, limit - 1)) {
      // No score is less than so low a number, but for what a mask adds.
      if (step->kind != MaskStep::Floor || !scores->masks.empty())
        scores->masks.push_back(*step);
      return scores;
    }
  }
  return std::nullopt;
}

/// x for x - max(x) over the last dim.
static Value shifted(Value value) {
  auto sub = value.getDefiningOp<SubOp>();
  auto max = sub ? sub.getRhs().getDefiningOp<ReduceMaxOp>() : ReduceMaxOp();
  int64_t rank = dist::getDims(value.getType()).size();
  if (!max || !max.getKeepdims() || !max.getAxes() ||
      *max.getAxes() != ArrayRef<int64_t>{rank - 1} ||
      !isSame(max.getData(), sub.getLhs()))
    return {};
  return sub.getLhs();
}

/// x for x widened to f32.
static Value widened(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  return cast && elementOf(value).isF32() &&
                 isa<Float16Type, BFloat16Type>(elementOf(cast.getInput()))
             ? cast.getInput()
             : Value();
}

std::optional<AttentionScores> readScores(Value operand, Type element) {
  constexpr unsigned kMaxSteps = 4;
  if (Value x = widened(operand))
    operand = x;
  if (Value x = shifted(operand))
    operand = x;
  Value sinks;
  const size_t rank = dimsOf(operand).size();
  if (auto concat = operand.getDefiningOp<ConcatOp>()) {
    if (concat.getAxis() + 1 != rank || concat->getNumOperands() != 2)
      return std::nullopt;
    operand = concat->getOperand(0);
    sinks = concat->getOperand(1);
    if (!dimsOf(sinks).back().isConstant(1))
      return std::nullopt;
  }
  if (elementOf(operand) != element)
    return std::nullopt;
  std::optional<AttentionScores> scores = readMasked(operand, kMaxSteps);
  if (scores)
    scores->sinks = sinks;
  return scores;
}

} // namespace shardc::import
