//===- RecoverActivations.cpp - Gelu and Swish from arithmetic ------------===//
//
// From each Erf, Tanh or Sigmoid: which x is its argument a polynomial of, and
// which value behind it is the activation of that x?
//
//===----------------------------------------------------------------------===//

#include "passes/import/Matching.h"
#include "passes/import/Passes.h"
#include "passes/import/Polynomial.h"
#include "passes/import/validate/Validator.h"

#include "dialects/onnx/ops/Activation.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Math.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_RECOVERACTIVATIONS
#include "passes/import/Passes.h.inc"

using namespace onnx;

namespace {

struct RecoverActivations : impl::RecoverActivationsBase<RecoverActivations> {
  void runOnOperation() override;
};

/// Is that the polynomial of an activation, or of the argument of its function?
using PolynomialTest = bool (*)(const Polynomial &, Type element);

struct Match {
  Value x, result;
  double factor; ///< of x in the argument
};

} // namespace

static bool isErfArgument(const Polynomial &p, Type type) {
  return p.size() == 1 && isClose(p.at(1), std::sqrt(0.5), type, 1);
}

/// sqrt(2 / pi) (x + 0.044715 x^3)
static bool isTanhArgument(const Polynomial &p, Type type) {
  const double factor = std::sqrt(2 / M_PI);
  return p.size() == 2 && isClose(p.at(1), factor, type, 1) &&
         isClose(p.at(3), 0.044715 * factor, type, 2);
}

/// By a factor that the op's attribute holds as exactly as the type would.
static bool isMultiple(const Polynomial &p, Type type) {
  const float factor = float(p.at(1));
  return p.size() == 1 && std::isnormal(factor) &&
         (!type.isF64() || double(factor) == p.at(1));
}

/// 0.5 x (1 + t)
static bool isGelu(const Polynomial &p, Type) {
  return p.size() == 2 && p.at(1, 0) == 0.5 && p.at(1, 1) == 0.5;
}

static bool isProduct(const Polynomial &p, Type) {
  return p.size() == 1 && p.at(1, 1) == 1;
}

/// The value behind `t` that is the activation of x.
static Value findResult(Value x, Value t, PolynomialTest test) {
  Value result = t;
  for (int step = 0; step < 6; ++step) {
    Operation *user = onlyUser(result);
    if (!user || user->getNumResults() != 1)
      return {};
    result = user->getResult(0);
    std::optional<Polynomial> p = polynomialOf(result, x, t);
    if (!p)
      return {};
    if (test(*p, elementOf(x)))
      return result.getType() == x.getType() ? result : Value();
  }
  return {};
}

/// Looks for x among the values a few ops before the argument.
static std::optional<Match> findActivation(Operation *op,
                                           PolynomialTest isArgument,
                                           PolynomialTest isResult) {
  Value argument = op->getOperand(0);
  SmallVector<Value, 8> candidates = {argument};
  for (size_t i = 0; i < candidates.size() && i < 8; ++i) {
    Value x = candidates[i];
    std::optional<Polynomial> p = polynomialOf(argument, x, {});
    if (p && isArgument(*p, elementOf(x)))
      if (Value result = findResult(x, op->getResult(0), isResult))
        return Match{x, result, p->at(1)};
    Operation *source = x.getDefiningOp();
    if (source && isa<AddOp, SubOp, MulOp, DivOp, PowOp, NegOp>(source))
      for (Value operand : source->getOperands())
        if (!splatConstant(operand))
          candidates.push_back(operand);
  }
  return std::nullopt;
}

/// Replaces what is an activation around the function value of `op`.
static bool recoverActivation(Operation *op, Validator &validator) {
  std::optional<Match> match;
  if (isa<ErfOp>(op))
    match = findActivation(op, isErfArgument, isGelu);
  else if (isa<TanhOp>(op))
    match = findActivation(op, isTanhArgument, isGelu);
  else if (isa<SigmoidOp>(op))
    match = findActivation(op, isMultiple, isProduct);
  if (!match)
    return false;
  Operation *last = match->result.getDefiningOp();
  OpBuilder builder(last);
  Type type = match->result.getType();
  Value activation;
  if (isa<SigmoidOp>(op))
    activation = SwishOp::create(builder, last->getLoc(), type, match->x,
                                 builder.getF32FloatAttr(float(match->factor)));
  else
    activation = GeluOp::create(
        builder, last->getLoc(), type, match->x,
        builder.getStringAttr(isa<TanhOp>(op) ? "tanh" : "none"));
  if (!validator.allows(match->result, activation, "an activation"))
    return false;
  match->result.replaceAllUsesWith(activation);
  return true;
}

void RecoverActivations::runOnOperation() {
  Validator validator;
  for (auto function : getOperation().getOps<func::FuncOp>())
    for (Block &block : function.getBody()) {
      validator.enter(block);
      for (Operation &op : block)
        if (recoverActivation(&op, validator))
          ++numActivations;
      eraseDead(block);
    }
  numValidated += validator.numEvaluated;
  numUndone += validator.numUndone;
  numBelieved += validator.numUnknown;
}

} // namespace shardc::import
