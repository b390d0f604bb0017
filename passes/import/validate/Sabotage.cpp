//===- Sabotage.cpp - Recoveries that are broken on purpose ---------------===//

#include "passes/import/validate/Sabotage.h"

#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Layout.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;

namespace shardc::import {

static llvm::cl::opt<std::string> breakRecovery(
    "shardc-test-break-recovery", llvm::cl::Hidden,
    llvm::cl::desc("Make recoveries of this name compute something else"));

/// 1.5 times as large, and not what a default would be.
static bool scaleNumber(Operation *op) {
  for (NamedAttribute attribute : op->getAttrs()) {
    auto number = dyn_cast<FloatAttr>(attribute.getValue());
    if (!number)
      continue;
    const double other = number.getValueAsDouble() * 1.5 + 0.25;
    op->setAttr(attribute.getName(), FloatAttr::get(number.getType(), other));
    return true;
  }
  return false;
}

/// Whether the order of its operands says nothing.
static bool isSymmetric(Operation *op) {
  return isa<onnx::AddOp, onnx::MulOp>(op);
}

static bool swapAlike(Operation *op) {
  if (isSymmetric(op))
    return false;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    for (unsigned j = i + 1; j < op->getNumOperands(); ++j) {
      Value a = op->getOperand(i), b = op->getOperand(j);
      if (a == b || a.getType() != b.getType() ||
          !isa<RankedTensorType>(a.getType()))
        continue;
      op->setOperand(i, b);
      op->setOperand(j, a);
      return true;
    }
  return false;
}

/// In place of its first operand of numbers, that one twice.
static void doubleOperand(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || type.getElementType().isInteger(1))
      continue;
    OpBuilder builder(op);
    operand.set(onnx::AddOp::create(builder, op->getLoc(), value.getType(),
                                    value, value));
    return;
  }
}

void sabotage(Value made, StringRef what) {
  if (breakRecovery.empty() || what != StringRef(breakRecovery))
    return;
  Operation *op = made.getDefiningOp();
  while (isa_and_nonnull<onnx::ReshapeOp, onnx::TransposeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  if (op && !scaleNumber(op) && !swapAlike(op))
    doubleOperand(op);
}

} // namespace shardc::import
