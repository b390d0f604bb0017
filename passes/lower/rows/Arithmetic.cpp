//===- Arithmetic.cpp - Rows of sums, products and the like ---------------===//

#include "passes/lower/rows/RowCall.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace shardc::lower {

using Values = SmallVector<Value, 2>;

template <typename Op>
static Values emitBinary(rt::CallOp, ValueRange inputs, RowBody &body) {
  return {body.make<Op>(inputs[0], inputs[1])};
}
template <typename Op>
static Values emitUnary(rt::CallOp, ValueRange inputs, RowBody &body) {
  return {body.make<Op>(inputs[0])};
}
/// The operand that compares so with the other; a NaN in either.
template <arith::CmpFPredicate predicate>
static Values emitChoice(rt::CallOp, ValueRange inputs, RowBody &body) {
  Value isFirst = body.make<arith::CmpFOp>(predicate, inputs[0], inputs[1]);
  Value isNan =
      body.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, inputs[0], inputs[0]);
  Value takesFirst = body.make<arith::OrIOp>(isFirst, isNan);
  return {body.make<arith::SelectOp>(takesFirst, inputs[0], inputs[1])};
}

/// First the lower bound, then the upper one; both keep NaN.
static Values emitClip(rt::CallOp, ValueRange inputs, RowBody &body) {
  Value x = inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (!inputs[i])
      continue;
    Value isBeyond = body.make<arith::CmpFOp>(
        i == 1 ? arith::CmpFPredicate::OLT : arith::CmpFPredicate::OGT, x,
        inputs[i]);
    x = body.make<arith::SelectOp>(isBeyond, inputs[i], x);
  }
  return {x};
}

static Values emitReciprocal(rt::CallOp, ValueRange inputs, RowBody &body) {
  return {body.make<arith::DivFOp>(body.constant(1), inputs[0])};
}

static bool isFloatOrNone(Value view) {
  return isa<NoneType>(view.getType()) || isFloat(view);
}

/// All operands are floats.
template <EmitRow emit, size_t operands>
static bool bindArithmetic(rt::CallOp call, RowCall &row) {
  return call.getInputs().size() == operands &&
         llvm::all_of(call.getInputs(), isFloatOrNone) &&
         bindElementwise(call, row, emit);
}

static bool bindClip(rt::CallOp call, RowCall &row) {
  return llvm::all_of(call.getInputs(), isFloatOrNone) &&
         bindElementwise(call, row, emitClip);
}

void addArithmeticRows(RowMap &map) {
  map["Add"] = bindArithmetic<emitBinary<arith::AddFOp>, 2>;
  map["Sub"] = bindArithmetic<emitBinary<arith::SubFOp>, 2>;
  map["Mul"] = bindArithmetic<emitBinary<arith::MulFOp>, 2>;
  map["Div"] = bindArithmetic<emitBinary<arith::DivFOp>, 2>;
  map["Min"] = bindArithmetic<emitChoice<arith::CmpFPredicate::OLT>, 2>;
  map["Max"] = bindArithmetic<emitChoice<arith::CmpFPredicate::OGT>, 2>;
  map["Clip"] = bindClip;
  map["Floor"] = bindArithmetic<emitUnary<math::FloorOp>, 1>;
  map["Ceil"] = bindArithmetic<emitUnary<math::CeilOp>, 1>;
  map["Round"] = bindArithmetic<emitUnary<math::RoundEvenOp>, 1>;
  map["Neg"] = bindArithmetic<emitUnary<arith::NegFOp>, 1>;
  map["Abs"] = bindArithmetic<emitUnary<math::AbsFOp>, 1>;
  map["Sqrt"] = bindArithmetic<emitUnary<math::SqrtOp>, 1>;
  map["Reciprocal"] = bindArithmetic<emitReciprocal, 1>;
  map["Exp"] = bindArithmetic<emitUnary<math::ExpOp>, 1>;
  map["Erf"] = bindArithmetic<emitUnary<math::ErfOp>, 1>;
  map["Tanh"] = bindArithmetic<emitUnary<math::TanhOp>, 1>;
}

} // namespace shardc::lower
