//===- NodeName.h - The ONNX node that an op came from --------------------===//
#ifndef SHARDC_DIALECTS_DIST_NODENAME_H
#define SHARDC_DIALECTS_DIST_NODENAME_H

#include "mlir/IR/Operation.h"

namespace shardc {

/// Name of the node at a location; `otherwise` where there is none, as of ops of
/// a text that was written by hand.
inline llvm::StringRef nodeName(mlir::Location loc,
                                llvm::StringRef otherwise = "") {
  auto name = llvm::dyn_cast<mlir::NameLoc>(loc);
  return name ? name.getName().getValue() : otherwise;
}
inline llvm::StringRef nodeName(mlir::Operation *op,
                                llvm::StringRef otherwise = "") {
  return nodeName(op->getLoc(), otherwise);
}

} // namespace shardc

#endif // SHARDC_DIALECTS_DIST_NODENAME_H
