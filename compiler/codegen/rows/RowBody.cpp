//===- RowBody.cpp - What is computed of a row, as vectors ----------------===//

#include "compiler/codegen/rows/RowBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace shardc::codegen {

Type storageType(Type element) {
  OpBuilder b(element.getContext());
  if (element.isBF16())
    return b.getI16Type();
  return element.isSignlessInteger(1) ? b.getI8Type() : element;
}

int64_t storageBytes(Type element) {
  return storageType(element).getIntOrFloatBitWidth() / 8;
}

SmallVector<RowOperand, 8> operandsOf(rt::KernelOp kernel) {
  SmallVector<RowOperand, 8> operands;
  Block &body = kernel.getBody().front();
  for (auto [argument, kind] :
       llvm::zip_equal(body.getArguments(),
                       kernel.getInputKinds().getAsValueRange<StringAttr>()))
    operands.push_back({argument.getType(), kind == rt::kRow});
  for (auto [value, kind] :
       llvm::zip_equal(body.getTerminator()->getOperands(),
                       kernel.getOutputKinds().getAsValueRange<StringAttr>()))
    operands.push_back({value.getType(), kind == rt::kRow});
  return operands;
}

bool mixesColumns(rt::KernelOp kernel, const RowPhases &phases) {
  bool mixes = phases.numPhases() > 1;
  kernel.walk([&](rt::ColumnsOp) { mixes = true; });
  return mixes;
}

RowOperand &RowBody::output(unsigned number) {
  return operands[kernel.getBody().getNumArguments() + number];
}

//===--- Small steps ------------------------------------------------------===//

Value RowBody::number(int64_t value) {
  return make<arith::ConstantOp>(TypedAttr(b.getI64IntegerAttr(value)));
}

Value RowBody::advance(Value base, Value bytes) {
  return make<LLVM::GEPOp>(base.getType(), b.getI8Type(), base,
                           ValueRange(bytes));
}

static Type like(Type shape, Type element) {
  auto vector = dyn_cast<VectorType>(shape);
  return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
}

Value RowBody::zeroOf(Type type) {
  return make<arith::ConstantOp>(cast<TypedAttr>(b.getZeroAttr(type)));
}

/// Values as stored, to what the body computes with; and back.
Value RowBody::fromStorage(Value stored, Type element) {
  Type type = like(stored.getType(), element);
  if (element.isBF16())
    return make<arith::BitcastOp>(type, stored);
  if (element.isSignlessInteger(1))
    return make<arith::CmpIOp>(arith::CmpIPredicate::ne, stored,
                               zeroOf(stored.getType()));
  return stored;
}

Value RowBody::toStorage(Value value, Type element) {
  Type type = like(value.getType(), storageType(element));
  if (element.isBF16())
    return make<arith::BitcastOp>(type, value);
  if (element.isSignlessInteger(1))
    return make<arith::ExtUIOp>(type, value);
  return value;
}

//===--- One value a row --------------------------------------------------===//

Value RowBody::loadScalar(const RowOperand &operand) {
  Value stored = make<LLVM::LoadOp>(storageType(operand.element), operand.row,
                                    unsigned(storageBytes(operand.element)));
  return fromStorage(stored, operand.element);
}

void RowBody::emitUniforms(unsigned phase) {
  Block &body = kernel.getBody().front();
  if (phase == 0)
    for (BlockArgument argument : body.getArguments())
      if (phases.isUniform(argument))
        uniforms.map(argument, loadScalar(operands[argument.getArgNumber()]));
  for (Operation &op : body.without_terminator()) {
    Value value = op.getResult(0);
    if (!phases.isUniform(value) || phases.phaseOf(value) != phase ||
        uniforms.contains(value))
      continue;
    if (isa<rt::ColumnsOp>(op))
      uniforms.map(value, make<arith::SIToFPOp>(Type(b.getF32Type()), columns));
    else if (!isa<rt::ReduceOp>(op)) // those come with their columns
      b.clone(op, uniforms);
  }
}

void RowBody::emitRowOutputs(unsigned phase) {
  Operation *yield = kernel.getBody().front().getTerminator();
  for (unsigned number : phases.outputsIn(phase)) {
    const RowOperand &operand = output(number);
    if (operand.isPerRow)
      LLVM::StoreOp::create(
          b, loc,
          toStorage(uniforms.lookup(yield->getOperand(number)),
                    operand.element),
          operand.row, unsigned(storageBytes(operand.element)));
  }
}

//===--- One value a column -----------------------------------------------===//

bool RowBody::fillsSlots(unsigned phase) {
  return llvm::any_of(
      kernel.getBody().front().without_terminator(), [&](Operation &op) {
        Value value = op.getResult(0);
        return phases.slotOf(value) >= 0 && phases.phaseOf(value) == phase;
      });
}

bool RowBody::hasColumns(unsigned phase) {
  return fillsSlots(phase) || !phases.reductionsIn(phase).empty() ||
         llvm::any_of(phases.outputsIn(phase), [&](unsigned number) {
           return !output(number).isPerRow;
         });
}

void RowBody::emitBlock(unsigned phase, Value column, Value mask,
                        ArrayRef<rt::ReduceOp> reductions,
                        MutableArrayRef<Value> sums) {
  IRMapping vectors;
  Place place{phase, column, mask, vectors};
  Block &body = kernel.getBody().front();
  for (Operation &op : body.without_terminator()) {
    Value value = op.getResult(0);
    const int slot = phases.slotOf(value);
    if (slot >= 0 && phases.phaseOf(value) == phase)
      storeVector(vectorFor(value, place), slotAt(slot, column), mask);
  }
  for (auto [reduce, sum] : llvm::zip_equal(reductions, sums)) {
    Value value = vectorFor(rt::ReduceOp(reduce).getValue(), place);
    if (mask)
      value = make<arith::SelectOp>(mask, value, lanes.identity(reduce));
    sum = lanes.combine(reduce, sum, value);
  }
  for (unsigned number : phases.outputsIn(phase)) {
    const RowOperand &operand = output(number);
    if (!operand.isPerRow)
      storeVector(
          toStorage(vectorFor(body.getTerminator()->getOperand(number), place),
                    operand.element),
          elementAt(operand, column), mask);
  }
}

Value RowBody::vectorFor(Value value, Place &place) {
  if (Value known = place.vectors.lookupOrNull(value))
    return known;
  Value result = makeVector(value, place);
  place.vectors.map(value, result);
  return result;
}

Value RowBody::makeVector(Value value, Place &place) {
  if (phases.isUniform(value))
    return make<vector::BroadcastOp>(vectorOf(value.getType()),
                                     uniforms.lookup(value));
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    const RowOperand &operand = operands[argument.getArgNumber()];
    return fromStorage(loadVector(storageType(operand.element),
                                  elementAt(operand, place.column), place.mask),
                       operand.element);
  }
  const int slot = phases.slotOf(value);
  if (slot >= 0 && phases.phaseOf(value) < place.phase)
    return loadVector(value.getType(), slotAt(slot, place.column), place.mask);
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    (void)vectorFor(operand, place);
  Operation *copy = b.clone(*op, place.vectors);
  copy->getResult(0).setType(vectorOf(value.getType()));
  return copy->getResult(0);
}

Value RowBody::elementAt(const RowOperand &operand, Value column) {
  return advance(
      operand.row,
      make<arith::MulIOp>(column, number(storageBytes(operand.element))));
}

Value RowBody::slotAt(int slot, Value column) {
  Value index = make<arith::AddIOp>(
      column, make<arith::MulIOp>(slots.floats, number(slot)));
  return advance(slots.at, make<arith::MulIOp>(index, number(4)));
}

unsigned RowBody::alignmentOf(Type element) const {
  const int64_t bytes = storageBytes(element);
  return unsigned(std::max(bytes, std::min(bytes * width, alignment)));
}

Value RowBody::loadVector(Type element, Value at, Value mask) {
  Type type = vectorOf(element);
  if (!mask)
    return make<LLVM::LoadOp>(type, at, alignmentOf(element));
  return make<LLVM::MaskedLoadOp>(type, at, mask, zeroOf(type),
                                  b.getI32IntegerAttr(alignmentOf(element)));
}

void RowBody::storeVector(Value value, Value at, Value mask) {
  const unsigned bytes =
      alignmentOf(cast<VectorType>(value.getType()).getElementType());
  if (mask)
    LLVM::MaskedStoreOp::create(b, loc, value, at, mask,
                                b.getI32IntegerAttr(bytes));
  else
    LLVM::StoreOp::create(b, loc, value, at, bytes);
}

} // namespace shardc::codegen
