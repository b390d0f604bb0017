//===- Reduction.cpp - Rows that become one element -----------------------===//

#include "passes/lower/rows/RowCall.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace shardc::lower {

using Values = SmallVector<Value, 2>;

static constexpr char kSum[] = "sum", kMax[] = "max", kMin[] = "min";

template <const char *kind>
static Values emitReduce(rt::CallOp, ValueRange inputs, RowBody &body) {
  return {body.reduce(kind, inputs[0])};
}
/// Divides by the global count, which a rank's part of the row may be less of.
static Values emitMean(rt::CallOp call, ValueRange inputs, RowBody &body) {
  return {body.make<arith::DivFOp>(
      body.reduce("sum", inputs[0]),
      body.constant(double(*integerOf(call, "count"))))};
}

/// Over the last dim alone.
template <EmitRow emit>
static bool bindReduction(rt::CallOp call, RowCall &row) {
  if (call.getInputs().size() != 1)
    return false;
  rt::ViewType type = viewTypeOf(call.getInputs()[0]);
  if (!isa<FloatType>(type.getElement()) ||
      !hasSeveralColumns(type.getDims()) ||
      integerOf(call, "axes") != int64_t(type.getDims().size()) - 1 ||
      (emit == emitMean && !integerOf(call, "count")))
    return false;
  row.dims.assign(type.getDims().begin(), type.getDims().end());
  row.inputs = {operandOf(call.getInputs()[0], row.dims)};
  row.outputs = {operandOf(call.getOutputs()[0], row.dims)};
  row.emit = emit;
  return true;
}

void addReductionRows(RowMap &map) {
  map["ReduceMax"] = bindReduction<emitReduce<kMax>>;
  map["ReduceMean"] = bindReduction<emitMean>;
  map["ReduceMin"] = bindReduction<emitReduce<kMin>>;
  map["ReduceSum"] = bindReduction<emitReduce<kSum>>;
}

} // namespace shardc::lower
