//===- RecoverNormalizations.cpp - RMS and layer norms from arithmetic ----===//
//
// A value that is divided by the root of its own mean square is a norm: of the
// value itself (RMS), or of what it is the distance from the mean of (layer).
//
//   d = x - mean(x);  d / sqrt(mean(d * d) + eps) * w + b
//
// Statistics must be taken in f32 or f64, as the kernels do: squares that
// overflow a narrower type are another function.
//
//===----------------------------------------------------------------------===//

#include "passes/import/Matching.h"
#include "passes/import/Passes.h"
#include "passes/import/validate/Validator.h"

#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Math.h"
#include "dialects/onnx/ops/Normalization.h"
#include "dialects/onnx/ops/Reduction.h"
#include "dialects/onnx/ops/Source.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_RECOVERNORMALIZATIONS
#include "passes/import/Passes.h.inc"

using namespace onnx;

namespace {

/// (input - mean if isCentered) / sqrt(mean square + epsilon), over the dims
/// from axis on.
struct Norm {
  Value input;
  double epsilon;
  int64_t axis;
  bool isCentered;
};

struct RecoverNormalizations
    : impl::RecoverNormalizationsBase<RecoverNormalizations> {
  void runOnOperation() override;
};

} // namespace

/// The first axis of a mean over all the last dims, which keeps them as 1.
static std::optional<int64_t> trailingAxis(ReduceMeanOp mean) {
  std::optional<ArrayRef<int64_t>> axes = mean.getAxes();
  int64_t rank = dist::getDims(mean.getData().getType()).size();
  if (!axes || axes->empty() || !mean.getKeepdims())
    return std::nullopt;
  for (auto [i, axis] : llvm::enumerate(*axes))
    if (axis != rank - int64_t(axes->size()) + int64_t(i))
      return std::nullopt;
  return axes->front();
}

/// v for 1 / v.
static Value invertedOf(Value value) {
  if (auto reciprocal = value.getDefiningOp<ReciprocalOp>())
    return reciprocal.getInput();
  auto div = value.getDefiningOp<DivOp>();
  return div && splatConstant(div.getLhs()) == 1 ? div.getRhs() : Value();
}

/// v for v^exponent.
static Value powerBase(Value value, double exponent) {
  if (auto pow = value.getDefiningOp<PowOp>())
    return splatConstant(pow.getRhs()) == exponent ? pow.getLhs() : Value();
  if (auto mul = value.getDefiningOp<MulOp>())
    return exponent == 2 && isSame(mul.getLhs(), mul.getRhs()) ? mul.getLhs()
                                                               : Value();
  auto sqrt = value.getDefiningOp<SqrtOp>();
  return sqrt && exponent == 0.5 ? sqrt.getInput() : Value();
}

/// v for 1 / sqrt(v).
static Value inverseRootBase(Value value) {
  if (Value base = powerBase(value, -0.5))
    return base;
  if (Value root = invertedOf(value))
    return powerBase(root, 0.5);
  Value inverse = powerBase(value, 0.5);
  return inverse ? invertedOf(inverse) : Value();
}

/// Is x - mean(x) over the dims from `axis` on?
static bool isCentered(SubOp sub, int64_t axis) {
  auto mean = sub.getRhs().getDefiningOp<ReduceMeanOp>();
  return mean && isSame(mean.getData(), sub.getLhs()) &&
         trailingAxis(mean) == axis;
}

/// The norm of `value`, if `biased` is the mean of its squares + epsilon.
static std::optional<Norm> normOf(Value value, Value biased) {
  auto add = biased ? biased.getDefiningOp<AddOp>() : AddOp();
  if (!add)
    return std::nullopt;
  bool isRight = bool(add.getLhs().getDefiningOp<ReduceMeanOp>());
  auto mean = add->getOperand(isRight ? 0 : 1).getDefiningOp<ReduceMeanOp>();
  std::optional<double> epsilon =
      splatConstant(add->getOperand(isRight ? 1 : 0));
  std::optional<int64_t> axis = mean ? trailingAxis(mean) : std::nullopt;
  if (!axis || !epsilon || double(float(*epsilon)) != *epsilon ||
      !haveSameDims(add, mean))
    return std::nullopt;
  Value base = powerBase(mean.getData(), 2);
  Type element = elementOf(value);
  // A constant of more dims, an exponent, say, gives the squares dims of its
  // own.
  if (!base || !isSame(base, value) || !haveSameDims(mean.getData(), value) ||
      !(element.isF32() || element.isF64()))
    return std::nullopt;
  auto sub = base.getDefiningOp<SubOp>();
  bool isLayer = sub && isCentered(sub, *axis);
  return Norm{isLayer ? sub.getLhs() : value, *epsilon, *axis, isLayer};
}

/// Reads `op`, x * (1 / root) or x / root, as a norm without a scale.
static std::optional<Norm> readNorm(Operation *op) {
  if (auto div = dyn_cast<DivOp>(op))
    return haveSameDims(div, div.getLhs())
               ? normOf(div.getLhs(), powerBase(div.getRhs(), 0.5))
               : std::nullopt;
  auto mul = dyn_cast<MulOp>(op);
  if (!mul)
    return std::nullopt;
  for (unsigned i : {0u, 1u})
    if (Value base = inverseRootBase(mul->getOperand(i));
        base && haveSameDims(mul, mul->getOperand(1 - i)))
      if (auto norm = normOf(mul->getOperand(1 - i), base))
        return norm;
  return std::nullopt;
}

/// May `parameter` be a scale or bias over the dims of `value` from axis on?
static bool isParameter(Value parameter, Value value, int64_t axis) {
  auto dims = dist::getDims(value.getType());
  auto own = dist::getDims(parameter.getType());
  if (int64_t(own.size()) > int64_t(dims.size()) - axis ||
      elementOf(parameter) != elementOf(value))
    return false;
  for (auto [d, size] : llvm::enumerate(own))
    if (!size.isConstant(1) && size != dims[dims.size() - own.size() + d])
      return false;
  return true;
}

/// The other operand of the only user of `value`, if that is an `OpTy` by what
/// may be a parameter of the norm.
template <typename OpTy>
static Value parameterBehind(Value value, int64_t axis) {
  auto op = dyn_cast_or_null<OpTy>(onlyUser(value));
  Value other = op ? otherOperand(op, value) : Value();
  return other && isParameter(other, value, axis) ? other : Value();
}

/// T for a norm of a widened T that is narrowed to T again before its scale.
/// The norm then is one of T itself, whose statistics are wide (stash_type).
static Value narrowInput(const Norm &norm, CastOp narrowed) {
  auto widened = norm.input.getDefiningOp<CastOp>();
  if (!widened || norm.isCentered || !elementOf(norm.input).isF32() ||
      elementOf(widened.getInput()) != elementOf(narrowed.getResult()) ||
      !isa<Float16Type, BFloat16Type>(elementOf(widened.getInput())))
    return {};
  return widened.getInput();
}

static bool recoverNorm(Value value, const Norm &norm, Validator &validator) {
  Value input = norm.input, last = value;
  if (auto narrowed = dyn_cast_or_null<CastOp>(onlyUser(value)))
    if (Value narrow = narrowInput(norm, narrowed);
        narrow && parameterBehind<MulOp>(narrowed.getResult(), norm.axis)) {
      input = narrow;
      last = narrowed.getResult();
    }
  Value scale = parameterBehind<MulOp>(last, norm.axis), bias;
  if (scale) {
    last = onlyUser(last)->getResult(0);
    if (norm.isCentered && (bias = parameterBehind<AddOp>(last, norm.axis)))
      last = onlyUser(last)->getResult(0);
  }
  OpBuilder builder(last.getDefiningOp());
  Location loc = last.getLoc();
  if (!scale) {
    auto type = RankedTensorType::get({1}, elementOf(input));
    APFloat one(1.0);
    bool losesInfo;
    one.convert(cast<FloatType>(elementOf(input)).getFloatSemantics(),
                APFloat::rmNearestTiesToEven, &losesInfo);
    scale = ConstantOp::create(builder, loc, type,
                               DenseElementsAttr::get(type, one));
  }
  SmallVector<Value, 3> operands = {input, scale};
  if (bias)
    operands.push_back(bias);
  NamedAttribute attributes[] = {
      builder.getNamedAttr("axis", builder.getI64IntegerAttr(norm.axis)),
      builder.getNamedAttr("epsilon",
                           builder.getF32FloatAttr(float(norm.epsilon)))};
  Operation *made;
  if (norm.isCentered)
    made = LayerNormalizationOp::create(builder, loc, {last.getType()},
                                        operands, attributes);
  else
    made = RMSNormalizationOp::create(builder, loc, {last.getType()}, operands,
                                      attributes);
  if (!validator.allows(last, made->getResult(0), "a norm"))
    return false;
  last.replaceAllUsesWith(made->getResult(0));
  return true;
}

void RecoverNormalizations::runOnOperation() {
  Validator validator;
  for (auto function : getOperation().getOps<func::FuncOp>())
    for (Block &block : function.getBody()) {
      validator.enter(block);
      for (Operation &op : block)
        if (std::optional<Norm> norm = readNorm(&op))
          numNorms += recoverNorm(op.getResult(0), *norm, validator);
      eraseDead(block);
    }
  numValidated += validator.numEvaluated;
  numUndone += validator.numUndone;
  numBelieved += validator.numUnknown;
}

} // namespace shardc::import
