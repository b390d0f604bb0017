#include "compiler/package/InstructionNumbers.h"

using namespace mlir;

namespace shardc::package {

bool InstructionNumbers::isInstruction(Operation &op) {
  return isa<rt::CallOp, rt::CollectiveOp, rt::ReadSizesOp, rt::SetSizesOp,
             rt::IfOp, rt::ElseOp, rt::LoopOp, rt::EndOp, rt::SendOp,
             rt::ReceiveOp, rt::WaitOp>(op);
}

InstructionNumbers::InstructionNumbers(rt::ProgramOp program) {
  bool isLoading = true;
  for (Operation &op : program.getBody().front()) {
    isLoading &= !isa<rt::ReadyOp>(op);
    if (isInstruction(op) && !isLoading)
      numbers[&op] = count++;
  }
}

} // namespace shardc::package
