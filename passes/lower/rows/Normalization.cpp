//===- Normalization.cpp - Rows of norms and softmax ----------------------===//

#include "passes/lower/rows/RowCall.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace shardc::lower {

using Values = SmallVector<Value, 2>;

static Value meanOf(Value x, RowBody &body) {
  Value count =
      rt::ColumnsOp::create(body.builder, body.loc, body.builder.getF32Type());
  return body.make<arith::DivFOp>(body.reduce("sum", x), count);
}

static Value inverseDeviation(rt::CallOp call, Value centered, RowBody &body) {
  Value variance = meanOf(body.make<arith::MulFOp>(centered, centered), body);
  Value shifted = body.make<arith::AddFOp>(
      variance, body.constant(numberOr(call, "epsilon", 1e-5)));
  return body.make<arith::DivFOp>(body.constant(1),
                                  body.make<math::SqrtOp>(shifted));
}

static Value scaled(Value centered, Value inverse, ValueRange inputs,
                    RowBody &body) {
  Value result = body.make<arith::MulFOp>(
      body.make<arith::MulFOp>(centered, inverse), inputs[1]);
  if (inputs.size() > 2 && inputs[2])
    result = body.make<arith::AddFOp>(result, inputs[2]);
  return result;
}

static Values emitRmsNormalization(rt::CallOp call, ValueRange inputs,
                                   RowBody &body) {
  return {
      scaled(inputs[0], inverseDeviation(call, inputs[0], body), inputs, body)};
}

static Values emitLayerNormalization(rt::CallOp call, ValueRange inputs,
                                     RowBody &body) {
  Value centered = body.make<arith::SubFOp>(inputs[0], meanOf(inputs[0], body));
  return {
      scaled(centered, inverseDeviation(call, centered, body), inputs, body)};
}

static Values emitSoftmax(rt::CallOp, ValueRange inputs, RowBody &body) {
  // A NaN that the maximum passes over is in the sum.
  Value max = body.reduce("max_number", inputs[0]);
  Value power =
      body.make<math::ExpOp>(body.make<arith::SubFOp>(inputs[0], max));
  Value inverse =
      body.make<arith::DivFOp>(body.constant(1), body.reduce("sum", power));
  return {body.make<arith::MulFOp>(power, inverse)};
}

/// Along the last dim, without the optional statistics.
template <EmitRow emit>
static bool bindNormalization(rt::CallOp call, RowCall &row) {
  ArrayRef<dist::DimExpr> dims = viewTypeOf(call.getOutputs()[0]).getDims();
  return integerOf(call, "axis") == int64_t(dims.size()) - 1 &&
         hasSeveralColumns(dims) && bindElementwise(call, row, emit);
}

void addNormalizationRows(RowMap &map) {
  map["LayerNormalization"] = bindNormalization<emitLayerNormalization>;
  map["RMSNormalization"] = bindNormalization<emitRmsNormalization>;
  map["Softmax"] = bindNormalization<emitSoftmax>;
}

} // namespace shardc::lower
