//===- RowPhases.cpp - In which order a row's kernel is computed ----------===//

#include "compiler/codegen/rows/RowPhases.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace shardc::codegen {

static bool isExpensive(Value value) {
  Operation *op = value.getDefiningOp();
  return op && isa<math::ExpOp, math::ErfOp, math::ErfcOp, math::TanhOp>(op);
}

RowPhases::RowPhases(rt::KernelOp kernel) : kernel(kernel) {
  classify();
  chooseSlots();
}

void RowPhases::classify() {
  Block &body = kernel.getBody().front();
  for (auto [argument, kind] :
       llvm::zip_equal(body.getArguments(),
                       kernel.getInputKinds().getAsValueRange<StringAttr>())) {
    phase[argument] = 0;
    if (kind == rt::kRow)
      uniform.insert(argument);
  }
  for (Operation &op : body.without_terminator()) {
    unsigned first = 0;
    bool isSame = true;
    for (Value operand : op.getOperands()) {
      first = std::max(first, phaseOf(operand));
      isSame &= isUniform(operand);
    }
    if (isa<rt::ReduceOp>(op)) {
      ++first;
      isSame = true;
    }
    phase[op.getResult(0)] = first;
    if (isSame)
      uniform.insert(op.getResult(0));
  }
  for (Value value : body.getTerminator()->getOperands())
    phases = std::max(phases, phaseOf(value) + 1);
}

/// Notes the last phase in which each value of a slice is computed or read.
/// What a phase can read from a slot, it need not compute.
void RowPhases::need(Value value, unsigned inPhase,
                     llvm::DenseMap<Value, unsigned> &lastNeed) {
  auto [it, isNew] = lastNeed.try_emplace(value, inPhase);
  if (!isNew && it->second >= inPhase)
    return;
  it->second = inPhase;
  Operation *op = value.getDefiningOp();
  if (!op || isUniform(value))
    return;
  const unsigned computed = isExpensive(value) ? phaseOf(value) : inPhase;
  for (Value operand : op->getOperands())
    need(operand, computed, lastNeed);
}

void RowPhases::chooseSlots() {
  llvm::DenseMap<Value, unsigned> lastNeed;
  for (unsigned p = 0; p < phases; ++p) {
    for (rt::ReduceOp reduce : reductionsIn(p))
      need(reduce.getValue(), p, lastNeed);
    for (unsigned output : outputsIn(p))
      need(kernel.getBody().front().getTerminator()->getOperand(output), p,
           lastNeed);
  }
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    Value value = op.getResult(0);
    auto needed = lastNeed.find(value);
    if (isExpensive(value) && !isUniform(value) && needed != lastNeed.end() &&
        needed->second > phaseOf(value))
      slots.try_emplace(value, slots.size());
  }
}

int RowPhases::slotOf(Value value) const {
  auto slot = slots.find(value);
  return slot == slots.end() ? -1 : slot->second;
}

SmallVector<rt::ReduceOp, 2> RowPhases::reductionsIn(unsigned phase) const {
  SmallVector<rt::ReduceOp, 2> result;
  for (auto reduce : rt::KernelOp(kernel).getBody().getOps<rt::ReduceOp>())
    if (phaseOf(reduce.getValue()) == phase && phaseOf(reduce) < phases)
      result.push_back(reduce);
  return result;
}

SmallVector<unsigned, 4> RowPhases::outputsIn(unsigned phase) const {
  SmallVector<unsigned, 4> result;
  Operation *yield = rt::KernelOp(kernel).getBody().front().getTerminator();
  for (OpOperand &operand : yield->getOpOperands())
    if (phaseOf(operand.get()) == phase)
      result.push_back(operand.getOperandNumber());
  return result;
}

} // namespace shardc::codegen
