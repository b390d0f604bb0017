//===- VerifyLowered.h - Programs in order, and that of a function --------===//
#ifndef SHARDC_PASSES_VERIFY_VERIFYLOWERED_H
#define SHARDC_PASSES_VERIFY_VERIFYLOWERED_H

#include "mlir/IR/BuiltinOps.h"

namespace shardc::verify {

/// No buffer is read before it is written, or touched after it was freed; what
/// is persistent is not freed; load-time calls touch nothing of a request. And
/// each program does what its function says (lowered/Refinement.h); with
/// `allowsUnrecorded` those that come without one pass.
llvm::LogicalResult verifyLowered(mlir::ModuleOp module, bool allowsUnrecorded);

} // namespace shardc::verify

#endif // SHARDC_PASSES_VERIFY_VERIFYLOWERED_H
