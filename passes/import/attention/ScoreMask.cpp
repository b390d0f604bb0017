//===- ScoreMask.cpp - What is done to scores in front of a softmax -------===//

#include "passes/import/attention/ScoreMask.h"

#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"
#include "passes/import/attention/AttentionMask.h"

#include <cmath>

using namespace mlir;

namespace shardc::import {

using namespace onnx;

Value unexpanded(Value mask) {
  while (auto expand = mask.getDefiningOp<ExpandOp>())
    mask = expand.getData();
  return mask;
}

/// What is added as the Fill that it is, if it is 0 or one number.
static std::optional<MaskStep> fillOf(Value added) {
  auto choice = added.getDefiningOp<WhereOp>();
  if (!choice || !haveSameDims(choice.getCondition(), added))
    return std::nullopt;
  for (unsigned shown : {1u, 2u}) {
    std::optional<double> low = splatConstant(choice->getOperand(3 - shown));
    if (low && splatConstant(choice->getOperand(shown)) == 0.0)
      return MaskStep{MaskStep::Fill, choice.getCondition(), *low, shown == 2};
  }
  return std::nullopt;
}

/// The steps as Fills alone, each for those that follow it too.
static std::optional<SmallVector<MaskStep, 4>>
fillsOf(ArrayRef<MaskStep> steps) {
  SmallVector<MaskStep, 4> fills;
  for (const MaskStep &step : steps) {
    if (step.kind == MaskStep::Floor || step.kind == MaskStep::Scale) {
      for (MaskStep &fill : fills)
        fill.low = step.kind == MaskStep::Floor ? std::max(fill.low, step.low)
                                                : fill.low * step.factor;
      continue;
    }
    std::optional<MaskStep> fill =
        step.kind == MaskStep::Add ? fillOf(unexpanded(step.value)) : step;
    // Added to what is hidden already, another finite number hides it twice.
    if (!fill || (step.kind == MaskStep::Add && !fills.empty() &&
                  fill->low != -INFINITY))
      return std::nullopt;
    fills.push_back(*fill);
  }
  return fills;
}

std::optional<MaskCondition> conditionOf(OpBuilder &builder, Location loc,
                                         ArrayRef<MaskStep> steps) {
  auto fills = fillsOf(steps);
  if (!fills || fills->empty())
    return std::nullopt;
  MaskCondition mask;
  mask.low = fills->front().low;
  for (const MaskStep &fill : *fills) {
    if (fill.low != mask.low)
      return std::nullopt;
    Value shown = unexpanded(fill.value);
    if (fill.isHidden)
      shown = NotOp::create(builder, loc, shown.getType(), shown);
    mask.shown.push_back(shown);
  }
  return mask;
}

namespace {

/// Makes the mask step by step.
class Composer {
public:
  Composer(OpBuilder &builder, Location loc, Type element)
      : builder(builder), loc(loc), element(element) {}

  /// `mask`, which may be null, behind a step; null if dims may not broadcast.
  Value behind(Value mask, const MaskStep &step) {
    if (step.kind == MaskStep::Add)
      return mask ? sum(mask, unexpanded(step.value)) : unexpanded(step.value);
    if (step.kind == MaskStep::Fill)
      return choice(unexpanded(step.value), mask ? mask : number(0), step);
    if (step.kind == MaskStep::Scale)
      return MulOp::create(builder, loc, mask.getType(), mask,
                           number(step.factor));
    return MaxOp::create(builder, loc, mask.getType(),
                         ValueRange{mask, number(step.low)});
  }

private:
  Value number(double value) {
    KnownValue known{element, {}, {value}};
    return ConstantOp::create(builder, loc, RankedTensorType::get({}, element),
                              known.asElements());
  }

  Value sum(Value mask, Value added) {
    auto dims = broadcastDims(dimsOf(mask), dimsOf(added));
    return dims
               ? Value(AddOp::create(
                     builder, loc, dist::makeType(element, *dims), mask, added))
               : Value();
  }

  Value choice(Value condition, Value shown, const MaskStep &step) {
    auto dims = broadcastDims(dimsOf(condition), dimsOf(shown));
    if (!dims)
      return {};
    Value low = number(step.low);
    if (step.isHidden)
      std::swap(shown, low);
    return WhereOp::create(builder, loc, dist::makeType(element, *dims),
                           condition, shown, low);
  }

  OpBuilder &builder;
  Location loc;
  Type element;
};

} // namespace

Value composed(OpBuilder &builder, Location loc, ArrayRef<MaskStep> steps,
               Type element) {
  Composer composer(builder, loc, element);
  Value mask;
  for (const MaskStep &step : steps) {
    if (step.kind == MaskStep::Add && elementOf(step.value) != element)
      return {};
    if (mask = composer.behind(mask, step); !mask)
      return {};
  }
  return mask;
}

} // namespace shardc::import
