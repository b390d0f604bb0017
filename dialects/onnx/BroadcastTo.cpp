//===- BroadcastTo.cpp - Operands that stretch to a shape -----------------===//

#include "dialects/onnx/BroadcastTo.h"

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

LogicalResult broadcastTo(ShapeInference &inference, Operation *op,
                          ArrayRef<DimExpr> dims, ArrayRef<DimExpr> operand,
                          StringRef name) {
  if (operand.size() > dims.size())
    return op->emitOpError("has ") << name << " with " << operand.size()
                                   << " dims, expected at most " << dims.size();
  dims = dims.take_back(operand.size());
  for (auto [wide, size] : llvm::zip_equal(dims, operand)) {
    // A size of 1 must not stretch to that of the operand.
    const LogicalResult fits =
        wide.isConstant(1)
            ? inference.assume(op, GuardKind::Equal, size, 1,
                               op->getName().stripDialect() + ": " + name +
                                   " is as large as what it goes with, or 1")
            : LogicalResult(inference.broadcast(op, wide, size));
    if (failed(fits))
      return failure();
  }
  return success();
}

} // namespace shardc::onnx
