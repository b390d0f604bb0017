//===- VerifyRouting.h - Tokens reach the experts that they chose ---------===//
//
// A rank has only some rows of what dist.dispatch gives it, and adds only some
// of what dist.combine takes: those whose tokens chose its experts. That is the
// whole truth only around the onnx.MixtureOfExperts that has these choices and
// these experts, split over the same ranks in the same order.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_VERIFY_VERIFYROUTING_H
#define SHARDC_PASSES_VERIFY_VERIFYROUTING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::verify {

llvm::LogicalResult verifyRouting(mlir::func::FuncOp program);

} // namespace shardc::verify

#endif // SHARDC_PASSES_VERIFY_VERIFYROUTING_H
