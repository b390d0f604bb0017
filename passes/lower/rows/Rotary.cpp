//===- Rotary.cpp - Rows of rotary embeddings -----------------------------===//
//
// X [b, h, s, d], cos and sin [b, s, d/2]: a row is half a head. Both halves of
// X, and both of the output, are operands of their own.
//
//===----------------------------------------------------------------------===//

#include "passes/lower/rows/RowCall.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace shardc::lower {

using Values = SmallVector<Value, 2>;

static Values emitRotary(rt::CallOp, ValueRange inputs, RowBody &body) {
  Value first = inputs[0], second = inputs[1];
  Value cos = inputs[2], sin = inputs[3];
  return {body.make<arith::SubFOp>(body.make<arith::MulFOp>(cos, first),
                                   body.make<arith::MulFOp>(sin, second)),
          body.make<arith::AddFOp>(body.make<arith::MulFOp>(sin, first),
                                   body.make<arith::MulFOp>(cos, second))};
}

static RowOperand halfOf(Value view, const Sizes &dims, bool second) {
  rt::ViewType type = viewTypeOf(view);
  RowOperand operand = operandOf(view, type.getDims());
  operand.strides.back() =
      dims.back().isConstant(1) ? dist::DimExpr() : type.getStrides().back();
  if (second)
    operand.offset = operand.offset + dims.back() * type.getStrides().back();
  return operand;
}

/// A table [b, s, r] as seen from [b, h, s, r].
static RowOperand tableOf(Value view, const Sizes &dims) {
  Sizes own{dims[0], dims[2], dims[3]};
  RowOperand operand = operandOf(view, own);
  operand.strides.insert(operand.strides.begin() + 1, 0);
  return operand;
}

/// Whole heads, whose pairs are their halves.
static bool bindRotary(rt::CallOp call, RowCall &row) {
  if (call.getInputs().size() < 3 ||
      integerOf(call, "interleaved").value_or(0) != 0)
    return false;
  rt::ViewType x = viewTypeOf(call.getInputs()[0]);
  rt::ViewType cos = viewTypeOf(call.getInputs()[1]);
  if (x.getDims().size() != 4 || cos.getDims().size() != 3 ||
      cos.getDims()[2] * 2 != x.getDims()[3])
    return false;
  row.dims.assign(x.getDims().begin(), x.getDims().end());
  row.dims.back() = cos.getDims()[2];
  if (viewTypeOf(call.getOutputs()[0]).getDims() != x.getDims())
    return false;
  for (bool second : {false, true}) {
    row.inputs.push_back(halfOf(call.getInputs()[0], row.dims, second));
    row.outputs.push_back(halfOf(call.getOutputs()[0], row.dims, second));
  }
  row.inputs.push_back(tableOf(call.getInputs()[1], row.dims));
  row.inputs.push_back(tableOf(call.getInputs()[2], row.dims));
  row.emit = emitRotary;
  return true;
}

void addRotaryRows(RowMap &map) { map["RotaryEmbedding"] = bindRotary; }

} // namespace shardc::lower
