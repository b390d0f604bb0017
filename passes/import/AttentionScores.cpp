//===- AttentionScores.cpp - The chain in front of a softmax --------------===//

#include "passes/import/AttentionScores.h"

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

/// x for c * tanh(x / c).
static Value uncapped(Value value, double &cap) {
  double outer = 1, inner = 1;
  Value capped = factorOf(value, outer);
  auto tanh = capped ? capped.getDefiningOp<TanhOp>() : TanhOp();
  Value x = tanh ? factorOf(tanh.getInput(), inner) : Value();
  if (!x || outer <= 0 || !isClose(outer * inner, 1, elementOf(value)))
    return {};
  cap = outer;
  return x;
}

/// Product, scale and cap.
static bool readProduct(Value value, AttentionScores &scores) {
  if (Value x = uncapped(value, scores.softcap))
    value = x;
  scores.scale = 1;
  value = unscaled(value, scores.scale);
  auto product = value.getDefiningOp<MatMulOp>();
  if (!product || dist::getDims(product.getLhs().getType()).size() != 4 ||
      dist::getDims(product.getRhs().getType()).size() != 4)
    return false;
  scores.query = unscaled(product.getLhs(), scores.scale);
  scores.transposedKey = unscaled(product.getRhs(), scores.scale);
  return scores.scale > 0;
}

/// The number that a Where gives instead of its other operand, if it is small
/// enough that a score added to it is that number again.
static std::optional<double> lowOf(Value value) {
  std::optional<double> low = splatConstant(value);
  bool isLow = low && (*low == -INFINITY ||
                       (*low < -1e30 && !isa<Float16Type>(elementOf(value))));
  return isLow ? low : std::nullopt;
}

static bool readMasked(Value value, AttentionScores &scores);

/// max(x + mask, low), where low takes up every score: max(mask, low) does too.
/// A sum of two masks may be -inf, which this would not undo.
static bool readFloored(MaxOp max, AttentionScores &scores) {
  if (max->getNumOperands() != 2 || !scores.masks.empty())
    return false;
  for (unsigned i : {0u, 1u}) {
    Value x = max->getOperand(i);
    std::optional<double> low = lowOf(max->getOperand(1 - i));
    if (!low || !haveSameDims(x, max) || !readMasked(x, scores))
      continue;
    if (scores.masks.size() > 1)
      return false;
    for (ScoreMask &mask : scores.masks) {
      mask.low = std::max(mask.low, *low);
      if (mask.added)
        mask.floor = low;
    }
    return true;
  }
  return false;
}

/// With masks, the last one first.
static bool readMasked(Value value, AttentionScores &scores) {
  if (readProduct(value, scores))
    return true;
  if (auto max = value.getDefiningOp<MaxOp>())
    return readFloored(max, scores);
  Operation *op = value.getDefiningOp();
  if (!op || !isa<AddOp, WhereOp>(op) || scores.masks.size() == 3)
    return false;
  bool isSum = isa<AddOp>(op);
  for (unsigned i : {0u, 1u}) {
    Value x = op->getOperand(isSum ? i : i + 1);
    Value other = op->getOperand(isSum ? 1 - i : 2 - i);
    std::optional<double> low = isSum ? std::nullopt : lowOf(other);
    if (!haveSameDims(x, value) || !(isSum || low))
      continue;
    scores.masks.push_back(
        isSum ? ScoreMask{other, {}}
              : ScoreMask{{}, op->getOperand(0), *low, i == 1});
    if (readMasked(x, scores))
      return true;
    scores.masks.pop_back();
  }
  return false;
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
  AttentionScores scores;
  if (Value x = widened(operand))
    operand = x;
  if (Value x = shifted(operand))
    operand = x;
  int64_t rank = dist::getDims(operand.getType()).size();
  if (auto concat = operand.getDefiningOp<ConcatOp>()) {
    if (concat.getAxis() != uint64_t(rank - 1) || concat->getNumOperands() != 2)
      return std::nullopt;
    operand = concat->getOperand(0);
    scores.sinks = concat->getOperand(1);
    if (!dist::getDims(scores.sinks.getType()).back().isConstant(1))
      return std::nullopt;
  }
  if (elementOf(operand) != element || !readMasked(operand, scores))
    return std::nullopt;
  return scores;
}

std::optional<ScoreMask> conditionOf(Value added) {
  auto choice = added.getDefiningOp<WhereOp>();
  if (!choice || !haveSameDims(choice.getCondition(), added))
    return std::nullopt;
  for (unsigned shown : {1u, 2u}) {
    std::optional<double> low = splatConstant(choice->getOperand(3 - shown));
    if (low && splatConstant(choice->getOperand(shown)) == 0.0)
      return ScoreMask{{}, choice.getCondition(), *low, shown == 2};
  }
  return std::nullopt;
}

} // namespace shardc::import
