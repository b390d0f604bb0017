//===- OpSeconds.h - How long an op will take -----------------------------===//
//
//   onnx.MatMul %x, %w {dist.seconds = array<f64: 3.1e-05>}
//
// A prediction for a typical request, by kind of devices that stages of a pipeline
// have (plan/machine/StageDevices.h). Phase sharded has it for the cuts alone.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_DIST_OPSECONDS_H
#define SHARDC_DIALECTS_DIST_OPSECONDS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace shardc::dist {

inline constexpr llvm::StringLiteral kSecondsAttr = "dist.seconds";

inline void setOpSeconds(mlir::Operation *op, llvm::ArrayRef<double> seconds) {
  op->setAttr(kSecondsAttr,
              mlir::DenseF64ArrayAttr::get(op->getContext(), seconds));
}

/// None where nobody said.
inline llvm::ArrayRef<double> opSeconds(mlir::Operation *op) {
  auto seconds = op->getAttrOfType<mlir::DenseF64ArrayAttr>(kSecondsAttr);
  return seconds ? seconds.asArrayRef() : llvm::ArrayRef<double>();
}

} // namespace shardc::dist

#endif // SHARDC_DIALECTS_DIST_OPSECONDS_H
