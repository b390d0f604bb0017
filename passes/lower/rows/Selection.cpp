//===- Selection.cpp - Rows of casts, comparisons and choices -------------===//

#include "passes/lower/rows/RowCall.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace shardc::lower {

using Values = SmallVector<Value, 2>;

static bool isBool(Value view) {
  return viewTypeOf(view).getElement().isSignlessInteger(1);
}

/// To fewer bits, what a member gives is rounded anyway.
static Values emitCast(rt::CallOp call, ValueRange inputs, RowBody &body) {
  Type to = viewTypeOf(call.getOutputs()[0]).getElement();
  if (isBool(call.getInputs()[0]) && to.isSignlessInteger(1))
    return {inputs[0]};
  if (isBool(call.getInputs()[0])) {
    Value one = body.constant(1), zero = body.constant(0);
    return {body.make<arith::SelectOp>(inputs[0], one, zero)};
  }
  if (to.isSignlessInteger(1))
    return {body.make<arith::CmpFOp>(arith::CmpFPredicate::UNE, inputs[0],
                                     body.constant(0))};
  return {inputs[0]};
}

static bool bindCast(rt::CallOp call, RowCall &row) {
  return call.getInputs().size() == 1 && bindElementwise(call, row, emitCast);
}

static Values emitWhere(rt::CallOp, ValueRange inputs, RowBody &body) {
  return {body.make<arith::SelectOp>(inputs[0], inputs[1], inputs[2])};
}

static bool bindWhere(rt::CallOp call, RowCall &row) {
  return isBool(call.getInputs()[0]) && isFloat(call.getInputs()[1]) &&
         bindElementwise(call, row, emitWhere);
}

template <arith::CmpFPredicate predicate>
static Values emitCompare(rt::CallOp, ValueRange inputs, RowBody &body) {
  return {body.make<arith::CmpFOp>(predicate, inputs[0], inputs[1])};
}
template <arith::CmpFPredicate predicate>
static bool bindCompare(rt::CallOp call, RowCall &row) {
  return isFloat(call.getInputs()[0]) &&
         bindElementwise(call, row, emitCompare<predicate>);
}

template <typename Op>
static Values emitLogical(rt::CallOp, ValueRange inputs, RowBody &body) {
  return {body.make<Op>(inputs[0], inputs[1])};
}
template <typename Op> static bool bindLogical(rt::CallOp call, RowCall &row) {
  return bindElementwise(call, row, emitLogical<Op>);
}

static Values emitNot(rt::CallOp, ValueRange inputs, RowBody &body) {
  Value yes = arith::ConstantOp::create(body.builder, body.loc,
                                        body.builder.getBoolAttr(true));
  return {body.make<arith::XOrIOp>(inputs[0], yes)};
}
static bool bindNot(rt::CallOp call, RowCall &row) {
  return bindElementwise(call, row, emitNot);
}

void addSelectionRows(RowMap &map) {
  map["Cast"] = bindCast;
  map["Where"] = bindWhere;
  map["Equal"] = bindCompare<arith::CmpFPredicate::OEQ>;
  map["Greater"] = bindCompare<arith::CmpFPredicate::OGT>;
  map["GreaterOrEqual"] = bindCompare<arith::CmpFPredicate::OGE>;
  map["Less"] = bindCompare<arith::CmpFPredicate::OLT>;
  map["LessOrEqual"] = bindCompare<arith::CmpFPredicate::OLE>;
  map["And"] = bindLogical<arith::AndIOp>;
  map["Or"] = bindLogical<arith::OrIOp>;
  map["Xor"] = bindLogical<arith::XOrIOp>;
  map["Not"] = bindNot;
}

} // namespace shardc::lower
