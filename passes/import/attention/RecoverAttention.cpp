//===- RecoverAttention.cpp - Attention from products and softmax ---------===//
//
// Each softmax between two products of 4-D values is looked at: AttentionScores
// reads what is in front of it, AttentionMask what its mask says; here are what
// is behind it, the heads, and the op that is made. Heads and mask of an
// attention that the model has are read alike.
//
//===----------------------------------------------------------------------===//

#include "passes/import/Matching.h"
#include "passes/import/Passes.h"
#include "passes/import/attention/AttentionHeads.h"
#include "passes/import/attention/AttentionMask.h"
#include "passes/import/attention/MergedHeads.h"
#include "passes/import/validate/Validator.h"

#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Normalization.h"
#include "dialects/onnx/ops/Source.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_RECOVERATTENTION
#include "passes/import/Passes.h.inc"

using dist::DimExpr;
using namespace onnx;

namespace {
/// What is behind a softmax.
struct Weighted {
  MatMulOp product;      ///< weights * value
  Type element;          ///< of the weights in it
  bool isSafe = false;   ///< NaN is replaced by 0
  bool isSliced = false; ///< the last column is dropped
};

struct RecoverAttention : impl::RecoverAttentionBase<RecoverAttention> {
  void runOnOperation() override;
};

/// Makes the attention ops of one block; equal masks become one value.
class AttentionBuilder {
public:
  explicit AttentionBuilder(Validator &validator) : validator(validator) {}

  /// Puts an attention op where a softmax is part of one.
  bool replace(SoftmaxOp softmax);
  /// Reads keys, values and mask of one that the model has.
  void simplify(AttentionOp attention);

private:
  struct Mask {
    Value operand; ///< null: none
    std::optional<DimExpr> causalOffset = std::nullopt;
    int64_t window = 0;
  };

  std::optional<Mask> readMask(OpBuilder &builder, Location loc,
                               ArrayRef<MaskStep> steps, Type element,
                               ArrayRef<DimExpr> dims);
  Value merged(OpBuilder &builder, Value mask);

  Validator &validator;
  SmallVector<Value> masks; ///< those in use, none the same as another
};

} // namespace

/// The weights where NaN is 0, if that is what the users of `weights` compute.
static Value safeWeights(Value weights) {
  auto users = llvm::to_vector(weights.getUsers());
  if (users.size() != 2)
    return {};
  for (Operation *user : users) {
    auto choice = dyn_cast<WhereOp>(user);
    auto isNaN =
        choice ? choice.getCondition().getDefiningOp<IsNaNOp>() : IsNaNOp();
    if (isNaN && isNaN.getInput() == weights && isNaN->hasOneUse() &&
        splatConstant(choice.getThenValue()) == 0.0 &&
        choice.getElseValue() == weights && haveSameDims(choice, weights))
      return choice;
  }
  return {};
}

/// Follows the weights to their product with the value.
static std::optional<Weighted> followWeights(SoftmaxOp softmax) {
  Weighted weighted;
  Value weights = softmax.getResult();
  if (Value safe = safeWeights(weights)) {
    weighted.isSafe = true;
    weights = safe;
  }
  if (auto narrowed = dyn_cast_or_null<CastOp>(onlyUser(weights)))
    weights = narrowed;
  if (auto slice = dyn_cast_or_null<SliceOp>(onlyUser(weights))) {
    Dims from = dimsOf(weights), to = dimsOf(slice);
    dist::DimsAttr bounds = slice.getBoundsAttr();
    from.back() = from.back() - 1;
    if (!bounds || from != to ||
        !llvm::all_of(bounds.getValues(),
                      [](DimExpr start) { return start.isConstant(0); }) ||
        (slice.getSteps() && llvm::any_of(*slice.getSteps(), [](int64_t step) {
           return step != 1;
         })))
      return std::nullopt;
    weighted.isSliced = true;
    weights = slice;
  }
  weighted.product = dyn_cast_or_null<MatMulOp>(onlyUser(weights));
  weighted.element = elementOf(weights);
  if (!weighted.product || weighted.product.getLhs() != weights ||
      weighted.product.getRhs() == weights)
    return std::nullopt;
  return weighted;
}

/// Does the mask broadcast to the scores?
static bool fits(Value mask, ArrayRef<DimExpr> scores) {
  Dims dims = dimsOf(mask);
  if (dims.size() > scores.size())
    return false;
  for (auto [size, whole] :
       llvm::zip(llvm::reverse(dims), llvm::reverse(scores)))
    if (!size.isConstant(1) && size != whole)
      return false;
  return true;
}

/// The mask, or the same one that is there already at the builder's place.
Value AttentionBuilder::merged(OpBuilder &builder, Value mask) {
  auto isThere = [&](Value other) {
    Operation *op = other.getDefiningOp();
    return !op || op->isBeforeInBlock(&*builder.getInsertionPoint());
  };
  for (Value other : masks)
    if (isSame(mask, other) && isThere(other))
      return other;
  masks.push_back(mask);
  return mask;
}

/// What positions hide may become causality where it is hidden by -inf, or by a
/// number as good as that: where every query sees its own key, at least.
static bool isCausal(const Visibility &visibility, double hidden,
                     ArrayRef<DimExpr> dims) {
  if (!visibility.upper || !visibility.upper->isKnownNonNegative() ||
      !(dims[3] - dims[2] - *visibility.upper).isKnownNonNegative())
    return false;
  if (visibility.lower) {
    std::optional<int64_t> window =
        (*visibility.upper - *visibility.lower + 1).asConstant();
    if (window.value_or(0) < 1)
      return false;
  }
  return hidden == -INFINITY || (hidden < -1e30 && visibility.rest.empty());
}

/// The steps as causality and a condition, or as what is added.
std::optional<AttentionBuilder::Mask>
AttentionBuilder::readMask(OpBuilder &builder, Location loc,
                           ArrayRef<MaskStep> steps, Type element,
                           ArrayRef<DimExpr> dims) {
  if (steps.empty())
    return Mask{};
  // Several sums in f16 are rounded too coarsely to be taken apart.
  if (element.isF16() && llvm::count_if(steps, [](const MaskStep &step) {
                           return step.kind == MaskStep::Add;
                         }) > 1)
    return std::nullopt;
  std::optional<MaskCondition> condition = conditionOf(builder, loc, steps);
  Value shown =
      condition ? conjunction(builder, loc, condition->shown) : Value();
  if (shown && fits(shown, dims)) {
    Visibility visibility = visibilityOf(shown, dims[2], dims[3]);
    Value rest = conjunction(builder, loc, visibility.rest);
    if (isCausal(visibility, condition->low, dims) &&
        (rest || visibility.rest.empty()))
      return Mask{
          rest ? merged(builder, unexpanded(rest)) : Value(), visibility.upper,
          visibility.lower
              ? *(*visibility.upper - *visibility.lower + 1).asConstant()
              : 0};
    if (condition->low == -INFINITY)
      return Mask{merged(builder, shown)};
  }
  Value added = composed(builder, loc, steps, element);
  return added && fits(added, dims)
             ? std::optional<Mask>(Mask{merged(builder, added)})
             : std::nullopt;
}

static SmallVector<Value, 8> operandsOf(OpBuilder &builder, Location loc,
                                        const AttentionHeads &heads,
                                        Value mask) {
  SmallVector<Value, 8> operands = {heads.query, heads.key, heads.value};
  if (mask)
    operands.push_back(mask);
  if (heads.sinks) {
    operands.resize(AttentionOperand::Sinks,
                    NoneOp::create(builder, loc, builder.getNoneType()));
    operands.push_back(heads.sinks);
  }
  return operands;
}

static NamedAttrList attributesOf(OpBuilder &builder,
                                  const AttentionScores &scores, bool isSafe) {
  NamedAttrList attributes;
  attributes.set("is_causal", builder.getI64IntegerAttr(0));
  attributes.set("scale", builder.getF32FloatAttr(float(scores.scale)));
  attributes.set("zero_rows", builder.getStringAttr(isSafe ? "nan" : "none"));
  if (scores.softcap > 0)
    attributes.set("softcap", builder.getF32FloatAttr(float(scores.softcap)));
  return attributes;
}

/// A scale or cap that the op's attribute can hold, as exactly as scores are.
static bool fitsAttribute(double number, Type element) {
  return number > 0 && std::isnormal(float(number)) &&
         (!element.isF64() || double(float(number)) == number);
}

static void setCausality(OpBuilder &builder, DimExpr offset, int64_t window,
                         NamedAttrList &attributes) {
  attributes.set("is_causal", builder.getI64IntegerAttr(1));
  if (!offset.isConstant(0))
    attributes.set("causal_offset",
                   dist::DimsAttr::get(builder.getContext(), {offset}));
  if (window > 0)
    attributes.set("window", builder.getI64IntegerAttr(window));
}

bool AttentionBuilder::replace(SoftmaxOp softmax) {
  Dims dims = dimsOf(softmax);
  std::optional<Weighted> weighted = dims.size() == 4 && softmax.getAxis() == 3
                                         ? followWeights(softmax)
                                         : std::nullopt;
  std::optional<AttentionScores> scores =
      weighted ? readScores(softmax.getInput(), weighted->element)
               : std::nullopt;
  if (!scores || bool(scores->sinks) != weighted->isSliced)
    return false;
  if (weighted->isSliced)
    dims.back() = dims.back() - 1;
  Value result = weighted->product.getResult();
  OpBuilder builder(weighted->product);
  std::optional<AttentionHeads> heads = readHeads(
      builder, result.getLoc(), *scores, weighted->product.getRhs(), dims);
  const bool isScaled = fitsAttribute(scores->scale, weighted->element) &&
                        (scores->softcap == 0 ||
                         fitsAttribute(scores->softcap, weighted->element));
  std::optional<Mask> mask =
      heads && isScaled ? readMask(builder, result.getLoc(), scores->masks,
                                   elementOf(scores->query), dims)
                        : std::nullopt;
  if (!mask)
    return false;
  NamedAttrList attributes = attributesOf(builder, *scores, weighted->isSafe);
  if (mask->causalOffset)
    setCausality(builder, *mask->causalOffset, mask->window, attributes);
  auto attention = AttentionOp::create(
      builder, result.getLoc(), {result.getType()},
      operandsOf(builder, result.getLoc(), *heads, mask->operand), attributes);
  if (!validator.allows(result, attention.getResult(0), "attention"))
    return false;
  result.replaceAllUsesWith(attention.getResult(0));
  return true;
}

void AttentionBuilder::simplify(AttentionOp attention) {
  if (attention->getNumOperands() > AttentionOperand::PastKey ||
      attention->getNumResults() != 1)
    return;
  OpBuilder builder(attention);
  Location loc = attention.getLoc();
  AttentionHeads heads{
      attention.getQuery(), attention.getKey(), attention.getValue(), {}};
  bool isSimpler = dropRepetition(builder, loc, heads.key, heads.value);
  Value operand = attention->getNumOperands() > AttentionOperand::Mask
                      ? attention->getOperand(AttentionOperand::Mask)
                      : Value();
  if (operand && isa<NoneType>(operand.getType()))
    operand = {};
  NamedAttrList attributes(attention->getAttrs());
  if (operand && !attention.getIsCausal()) {
    const Dims query = dimsOf(heads.query), key = dimsOf(heads.key);
    const bool isShown = elementOf(operand).isInteger(1);
    const MaskStep step{isShown ? MaskStep::Fill : MaskStep::Add, operand,
                        -INFINITY};
    std::optional<Mask> mask =
        readMask(builder, loc, step, elementOf(heads.query),
                 {query[0], query[1], query[2], key[2]});
    if (mask && mask->causalOffset)
      setCausality(builder, *mask->causalOffset, mask->window, attributes);
    if (mask && (mask->causalOffset || mask->operand != operand)) {
      operand = mask->operand;
      isSimpler = true;
    }
  }
  if (!isSimpler)
    return;
  auto simpler =
      AttentionOp::create(builder, loc, attention->getResultTypes(),
                          operandsOf(builder, loc, heads, operand), attributes);
  if (validator.allows(attention.getResult(0), simpler.getResult(0),
                       "the mask of attention"))
    attention->replaceAllUsesWith(simpler);
}

void RecoverAttention::runOnOperation() {
  Validator validator;
  for (auto function : getOperation().getOps<func::FuncOp>())
    for (Block &block : function.getBody()) {
      splitMergedHeads(block, validator);
      validator.enter(block);
      AttentionBuilder attentions(validator);
      for (auto attention :
           llvm::make_early_inc_range(block.getOps<AttentionOp>()))
        attentions.simplify(attention);
      for (auto softmax : block.getOps<SoftmaxOp>())
        numAttentions += attentions.replace(softmax);
      eraseDead(block);
    }
  numValidated += validator.numEvaluated;
  numUndone += validator.numUndone;
  numBelieved += validator.numUnknown;
}

} // namespace shardc::import
