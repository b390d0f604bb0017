//===- RowCall.cpp - A kernel call seen as work on rows -------------------===//

#include "passes/lower/rows/RowCall.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace shardc::lower {

using dist::DimExpr;

Value RowBody::constant(double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getF32FloatAttr(float(value)));
}

Value RowBody::reduce(StringRef kind, Value value) {
  return rt::ReduceOp::create(builder, loc, value.getType(), kind, value);
}

RowMap allRowOps() {
  RowMap map;
  addActivationRows(map);
  addArithmeticRows(map);
  addNormalizationRows(map);
  addReductionRows(map);
  addRotaryRows(map);
  addSelectionRows(map);
  return map;
}

rt::ViewType viewTypeOf(Value view) {
  return cast<rt::ViewType>(view.getType());
}

RowOperand operandOf(Value view, ArrayRef<DimExpr> dims) {
  auto source = view.getDefiningOp<rt::ViewOp>();
  if (!source)
    return {};
  rt::ViewType type = viewTypeOf(view);
  RowOperand operand{source.getBuffer(), type.getElement(), Sizes(dims.size()),
                     type.getOffset(), type.getReplicated()};
  const size_t rank = type.getDims().size();
  for (size_t d = 0; d < dims.size(); ++d) {
    const bool isMissing = d + rank < dims.size();
    const size_t own = d + rank - dims.size();
    if (isMissing || type.getDims()[own].isConstant(1))
      continue;
    operand.fits &= type.getDims()[own] == dims[d];
    operand.strides[d] = type.getStrides()[own];
  }
  operand.fits &= rank <= dims.size();
  return operand;
}

bool bindElementwise(rt::CallOp call, RowCall &row, EmitRow emit) {
  if (call.getOutputs().size() != 1)
    return false;
  ArrayRef<DimExpr> dims = viewTypeOf(call.getOutputs()[0]).getDims();
  row.dims.assign(dims.begin(), dims.end());
  if (row.dims.empty())
    row.dims.push_back(1);
  for (Value input : call.getInputs())
    row.inputs.push_back(isa<NoneType>(input.getType())
                             ? RowOperand()
                             : operandOf(input, row.dims));
  row.outputs.push_back(operandOf(call.getOutputs()[0], row.dims));
  row.emit = emit;
  return true;
}

double numberOr(rt::CallOp call, StringRef name, double otherwise) {
  Attribute attribute = call.getConfig().get(name);
  if (auto number = dyn_cast_or_null<FloatAttr>(attribute))
    return number.getValueAsDouble();
  if (auto number = dyn_cast_or_null<IntegerAttr>(attribute))
    return double(number.getInt());
  return otherwise;
}

std::optional<int64_t> integerOf(rt::CallOp call, StringRef name) {
  Attribute attribute = call.getConfig().get(name);
  if (auto number = dyn_cast_or_null<IntegerAttr>(attribute))
    return number.getInt();
  if (auto list = dyn_cast_or_null<DenseI64ArrayAttr>(attribute))
    if (list.size() == 1)
      return list[0];
  if (auto list = dyn_cast_or_null<dist::DimsAttr>(attribute))
    if (list.getValues().size() == 1)
      return list.getValues()[0].asConstant();
  return std::nullopt;
}

/// Element types that are widened to f32 or are a bool.
static bool isComputable(const RowOperand &operand) {
  Type element = operand.element;
  return element.isF32() || element.isF16() || element.isBF16() ||
         element.isSignlessInteger(1);
}

static bool hasDenseColumns(const RowOperand &operand) {
  return operand.isPerRow() || operand.strides.back().isConstant(1);
}

std::optional<RowCall> rowCallOf(rt::CallOp call, const RowMap &map) {
  auto found = map.find(call.getKernel());
  RowCall row{call, {}, {}, {}};
  if (found == map.end() || !found->second(call, row))
    return std::nullopt;
  for (const auto *list : {&row.inputs, &row.outputs})
    for (const RowOperand &operand : *list) {
      if (operand.isAbsent() && list == &row.inputs)
        continue;
      if (operand.isAbsent() || !operand.fits || !isComputable(operand) ||
          !hasDenseColumns(operand))
        return std::nullopt;
    }
  return row;
}

} // namespace shardc::lower
