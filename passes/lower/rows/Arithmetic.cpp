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
static Values emitReciprocal(rt::CallOp, ValueRange inputs, RowBody &body) {
  return {body.make<arith::DivFOp>(body.constant(1), inputs[0])};
}

static bool isFloat(Value view) {
  return isa<NoneType>(view.getType()) ||
         isa<FloatType>(viewTypeOf(view).getElement());
}

/// All operands are floats.
template <EmitRow emit, size_t operands>
static bool bind(rt::CallOp call, RowCall &row) {
  return call.getInputs().size() == operands &&
         llvm::all_of(call.getInputs(), isFloat) &&
         bindElementwise(call, row, emit);
}

void addArithmeticRows(RowMap &map) {
  map["Add"] = bind<emitBinary<arith::AddFOp>, 2>;
  map["Sub"] = bind<emitBinary<arith::SubFOp>, 2>;
  map["Mul"] = bind<emitBinary<arith::MulFOp>, 2>;
  map["Div"] = bind<emitBinary<arith::DivFOp>, 2>;
  map["Neg"] = bind<emitUnary<arith::NegFOp>, 1>;
  map["Abs"] = bind<emitUnary<math::AbsFOp>, 1>;
  map["Sqrt"] = bind<emitUnary<math::SqrtOp>, 1>;
  map["Reciprocal"] = bind<emitReciprocal, 1>;
  map["Exp"] = bind<emitUnary<math::ExpOp>, 1>;
  map["Erf"] = bind<emitUnary<math::ErfOp>, 1>;
  map["Tanh"] = bind<emitUnary<math::TanhOp>, 1>;
}

} // namespace shardc::lower
