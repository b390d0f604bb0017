//===- ExpertParts.cpp - What mixtures of experts are made of -------------===//

#include "passes/import/experts/ExpertParts.h"

#include "dialects/onnx/ops/Activation.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Normalization.h"
#include "passes/import/Matching.h"
#include "passes/import/rotary/RotaryPairs.h"

#include <cmath>

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;

Value readActivationFunction(Value value, ExpertActivation &result) {
  Operation *op = value.getDefiningOp();
  if (auto swish = dyn_cast_or_null<SwishOp>(op)) {
    result.activation = "silu";
    result.alpha = swish.getAlpha().convertToFloat();
  } else if (auto gelu = dyn_cast_or_null<GeluOp>(op)) {
    result.activation = gelu.getApproximate() == "tanh" ? "gelu_tanh" : "gelu";
  } else if (isa_and_nonnull<ReluOp>(op)) {
    result.activation = "relu";
  } else {
    return {};
  }
  return op->getOperand(0);
}

/// x for x clipped to [low, high], where absent bounds are infinite.
static Value unclipped(Value value, double &low, double &high) {
  auto clip = value.getDefiningOp<ClipOp>();
  low = -INFINITY;
  high = INFINITY;
  if (!clip)
    return value;
  for (auto [i, bound] : llvm::enumerate(clip.getBounds())) {
    if (isa<NoneType>(bound.getType()))
      continue;
    std::optional<double> number = splatConstant(bound);
    if (!number)
      return {};
    (i == 0 ? low : high) = *number;
  }
  return clip.getInput();
}

/// Whose two halves, or even and odd elements, the gate and its partner are.
static bool readGate(Value gate, Value partner, ExpertActivation &result) {
  auto g = lastDimPart(gate), u = lastDimPart(partner);
  if (!g || !u || !isSame(g->source, u->source) || g->step != u->step ||
      !g->start.isConstant(0) || !haveSameDims(gate, partner))
    return false;
  DimExpr half = dimsOf(gate).back();
  if (dimsOf(g->source).back() != half * 2)
    return false;
  bool isHalves = g->step == 1 && u->start == half;
  if (!isHalves && !(g->step == 2 && u->start.isConstant(1)))
    return false;
  result.input = g->source;
  result.gate = isHalves ? "halves" : "interleaved";
  return true;
}

/// activation(min(g, limit)) * (clip(u) + shift)
static bool readGated(Value activated, Value partner,
                      ExpertActivation &result) {
  double low, high, partnerLow, partnerHigh;
  Value gate = readActivationFunction(activated, result);
  gate = gate ? unclipped(gate, low, high) : Value();
  if (!gate)
    return false;
  if (auto add = partner.getDefiningOp<AddOp>())
    for (unsigned i : {0u, 1u})
      if (auto shift = splatConstant(add->getOperand(i));
          shift && haveSameDims(add, add->getOperand(1 - i))) {
        result.shift = *shift;
        partner = add->getOperand(1 - i);
        break;
      }
  partner = unclipped(partner, partnerLow, partnerHigh);
  if (!partner || low != -INFINITY || high != partnerHigh ||
      partnerLow != -partnerHigh)
    return false;
  if (high != INFINITY)
    result.limit = high;
  return readGate(gate, partner, result);
}

std::optional<ExpertActivation> readExpertActivation(Value value) {
  if (auto product = value.getDefiningOp<MulOp>()) {
    for (unsigned i : {0u, 1u}) {
      ExpertActivation result;
      if (readGated(product->getOperand(i), product->getOperand(1 - i), result))
        return result;
    }
    return std::nullopt;
  }
  ExpertActivation result;
  result.input = readActivationFunction(value, result);
  return result.input ? std::optional<ExpertActivation>(result) : std::nullopt;
}

std::optional<std::pair<Value, Value>> readGatheredRows(Value value) {
  if (auto gather = value.getDefiningOp<GatherOp>())
    return gather.getAxis() == 0 ? std::make_optional(std::pair(
                                       gather.getData(), gather.getIndices()))
                                 : std::nullopt;
  auto gather = value.getDefiningOp<GatherNDOp>();
  if (!gather || gather.getBatchDims() != 0 ||
      !dimsOf(gather.getIndices()).back().isConstant(1))
    return std::nullopt;
  return std::pair(gather.getData(), gather.getIndices());
}

/// The same values, but for dims of 1: what a Reshape stands up as columns.
static Value withoutOnes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    auto isOne = [](DimExpr size) { return size.isConstant(1); };
    Dims from = dimsOf(reshape.getData()), to = dimsOf(reshape);
    llvm::erase_if(from, isOne);
    llvm::erase_if(to, isOne);
    if (from != to)
      break;
    value = reshape.getData();
  }
  return value;
}

/// A product of one row each, [m, 1, d] x [m, d, h] or the other way round.
static std::optional<ChosenProduct> readRowProducts(Value value) {
  auto reshape = value.getDefiningOp<ReshapeOp>();
  auto product =
      reshape ? reshape.getData().getDefiningOp<MatMulOp>() : MatMulOp();
  Dims to = dimsOf(value);
  if (!product || to.size() != 2)
    return std::nullopt;
  for (bool isTransposed : {false, true}) {
    Value rows = product->getOperand(isTransposed ? 1 : 0);
    auto gathered = readGatheredRows(product->getOperand(isTransposed ? 0 : 1));
    Dims wide = dimsOf(rows), result = dimsOf(product);
    if (!gathered || wide.size() != 3 || dimsOf(gathered->first).size() != 3 ||
        wide[0] != to[0])
      continue;
    bool isColumn =
        isTransposed ? wide[2].isConstant(1) && result == Dims{to[0], to[1], 1}
                     : wide[1].isConstant(1) && result == Dims{to[0], 1, to[1]};
    auto stood = rows.getDefiningOp<ReshapeOp>();
    if (!isColumn || !stood || dist::product(dimsOf(gathered->second)) != to[0])
      continue;
    return ChosenProduct{
        stood.getData(), gathered->second, gathered->first, isTransposed, {}};
  }
  return std::nullopt;
}

std::optional<ChosenProduct> readChosenProduct(Value value) {
  if (auto result = readRowProducts(value))
    return result;
  auto add = value.getDefiningOp<AddOp>();
  for (unsigned i : {0u, 1u}) {
    if (!add)
      break;
    auto result = readRowProducts(add->getOperand(i));
    auto bias = readGatheredRows(add->getOperand(1 - i));
    if (!result || !bias || dimsOf(bias->first).size() != 2 ||
        !isSame(withoutOnes(bias->second), withoutOnes(result->chosen)) ||
        !haveSameDims(add->getOperand(1 - i), add))
      continue;
    result->bias = bias->first;
    return result;
  }
  return std::nullopt;
}

bool readScattered(Value dense, Mixture &mixture) {
  auto scatter = dense.getDefiningOp<ScatterElementsOp>();
  auto topK = scatter ? scatter.getIndices().getDefiningOp<TopKOp>() : TopKOp();
  if (!topK || scatter.getAxis() != 1 || scatter.getReduction() != "none" ||
      topK.getAxis() != 1 || scatter.getIndices() != topK.getIndices() ||
      !haveSameDims(topK.getData(), dense) ||
      !haveSameDims(scatter.getUpdates(), scatter.getIndices()))
    return false;
  Value zeros = scatter.getData();
  if (auto expand = zeros.getDefiningOp<ExpandOp>())
    zeros = expand.getData();
  // Probabilities are finite, so that 0 times them is 0; those that were rounded, too.
  if (auto product = zeros.getDefiningOp<MulOp>()) {
    Value factor = product.getLhs();
    if (auto cast = factor.getDefiningOp<CastOp>())
      factor = cast.getInput();
    if (isa_and_nonnull<SoftmaxOp>(factor.getDefiningOp()))
      zeros = product.getRhs();
  }
  if (splatConstant(zeros) != 0.0)
    return false;
  mixture.indices = scatter.getIndices();
  mixture.weights = scatter.getUpdates();
  return true;
}

bool sumsAxis(ReduceSumOp sum, int64_t axis) {
  return sum.getAxes() && *sum.getAxes() == ArrayRef<int64_t>{axis} &&
         !sum.getKeepdims();
}

std::optional<std::pair<Value, Value>> readWeighted(Value value) {
  auto product = value.getDefiningOp<MulOp>();
  for (unsigned i : {0u, 1u}) {
    if (!product)
      break;
    Value rows = product->getOperand(i), weights = product->getOperand(1 - i);
    if (haveSameDims(rows, value) && !dimsOf(weights).empty() &&
        dimsOf(weights).back().isConstant(1) &&
        !dimsOf(rows).back().isConstant(1))
      return std::pair(rows, weights);
  }
  return std::nullopt;
}

} // namespace shardc::import
