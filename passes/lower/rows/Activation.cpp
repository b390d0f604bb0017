//===- Activation.cpp - Rows of activation functions ----------------------===//

#include "passes/lower/rows/RowCall.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;

namespace shardc::lower {

using Values = SmallVector<Value, 2>;

/// x / (1 + exp(-factor x)); `numerator` in place of x.
static Value logistic(Value numerator, Value x, double factor, RowBody &body) {
  Value scaled =
      factor == 1 ? x : body.make<arith::MulFOp>(body.constant(factor), x);
  Value power = body.make<math::ExpOp>(body.make<arith::NegFOp>(scaled));
  return body.make<arith::DivFOp>(
      numerator, body.make<arith::AddFOp>(body.constant(1), power));
}

static Values emitSigmoid(rt::CallOp, ValueRange inputs, RowBody &body) {
  return {logistic(body.constant(1), inputs[0], 1, body)};
}

static Values emitSwish(rt::CallOp call, ValueRange inputs, RowBody &body) {
  return {logistic(inputs[0], inputs[0], numberOr(call, "alpha", 1), body)};
}

/// x < 0 ? negative : x, which keeps NaN.
static Value whereNegative(Value x, Value negative, RowBody &body) {
  Value isNegative =
      body.make<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, body.constant(0));
  return body.make<arith::SelectOp>(isNegative, negative, x);
}

static Values emitRelu(rt::CallOp, ValueRange inputs, RowBody &body) {
  return {whereNegative(inputs[0], body.constant(0), body)};
}

static Values emitLeakyRelu(rt::CallOp call, ValueRange inputs, RowBody &body) {
  Value slope = body.constant(numberOr(call, "alpha", 0.01));
  return {whereNegative(inputs[0], body.make<arith::MulFOp>(slope, inputs[0]),
                        body)};
}

static Values emitPRelu(rt::CallOp, ValueRange inputs, RowBody &body) {
  return {whereNegative(inputs[0],
                        body.make<arith::MulFOp>(inputs[1], inputs[0]), body)};
}

static Values emitSoftsign(rt::CallOp, ValueRange inputs, RowBody &body) {
  Value magnitude = body.make<math::AbsFOp>(inputs[0]);
  return {body.make<arith::DivFOp>(
      inputs[0], body.make<arith::AddFOp>(body.constant(1), magnitude))};
}

/// 0.5 x (1 + inner)
static Value halfTimes(Value x, Value inner, RowBody &body) {
  return body.make<arith::MulFOp>(
      body.make<arith::MulFOp>(body.constant(0.5), x),
      body.make<arith::AddFOp>(body.constant(1), inner));
}

static Values emitGelu(rt::CallOp call, ValueRange inputs, RowBody &body) {
  Value x = inputs[0];
  auto approximate = dyn_cast_or_null<StringAttr>(
      Attribute(call.getConfig().get("approximate")));
  if (!approximate || approximate.getValue() != "tanh") {
    // 1 + erf(y) is erfc(-y), which needs no care for small y.
    Value scaled = body.make<arith::MulFOp>(x, body.constant(-std::sqrt(0.5)));
    Value half = body.make<arith::MulFOp>(body.constant(0.5), x);
    return {body.make<arith::MulFOp>(half, body.make<math::ErfcOp>(scaled))};
  }
  // sqrt(2 / pi) (x + 0.044715 x^3)
  Value cube = body.make<arith::MulFOp>(
      body.make<arith::MulFOp>(
          body.make<arith::MulFOp>(body.constant(0.044715), x), x),
      x);
  Value inner = body.make<arith::MulFOp>(
      body.constant(std::sqrt(2 / 3.14159265358979323846)),
      body.make<arith::AddFOp>(x, cube));
  return {halfTimes(x, body.make<math::TanhOp>(inner), body)};
}

/// Between 0 and 1; NaN stays.
static Value clampToUnit(Value x, RowBody &body) {
  Value one = body.constant(1);
  Value above = body.make<arith::CmpFOp>(arith::CmpFPredicate::OGT, x, one);
  return whereNegative(body.make<arith::SelectOp>(above, one, x),
                       body.constant(0), body);
}

static Values emitHardSigmoid(rt::CallOp call, ValueRange inputs,
                              RowBody &body) {
  Value scaled = body.make<arith::MulFOp>(
      body.constant(numberOr(call, "alpha", 0.2)), inputs[0]);
  return {clampToUnit(body.make<arith::AddFOp>(
                          scaled, body.constant(numberOr(call, "beta", 0.5))),
                      body)};
}

static Values emitHardSwish(rt::CallOp, ValueRange inputs, RowBody &body) {
  Value scaled = body.make<arith::AddFOp>(
      body.make<arith::DivFOp>(inputs[0], body.constant(6)),
      body.constant(0.5));
  return {body.make<arith::MulFOp>(inputs[0], clampToUnit(scaled, body))};
}

template <EmitRow emit, size_t operands = 1>
static bool bindActivation(rt::CallOp call, RowCall &row) {
  return call.getInputs().size() == operands &&
         isa<FloatType>(viewTypeOf(call.getInputs()[0]).getElement()) &&
         bindElementwise(call, row, emit);
}

void addActivationRows(RowMap &map) {
  map["Gelu"] = bindActivation<emitGelu>;
  map["HardSigmoid"] = bindActivation<emitHardSigmoid>;
  map["HardSwish"] = bindActivation<emitHardSwish>;
  map["LeakyRelu"] = bindActivation<emitLeakyRelu>;
  map["PRelu"] = bindActivation<emitPRelu, 2>;
  map["Relu"] = bindActivation<emitRelu>;
  map["Sigmoid"] = bindActivation<emitSigmoid>;
  map["Softsign"] = bindActivation<emitSoftsign>;
  map["Swish"] = bindActivation<emitSwish>;
}

} // namespace shardc::lower
