//===- KernelBodies.h - Generated kernels against ops ---------------------===//
//
// The walk finds which ops the members of a generated kernel do. The kernel's
// body is then evaluated on a few rows beside those ops, whose definitions it
// shares nothing with: with it, the way from ops to generated code has no step
// that is merely believed (compiler/codegen/check compares the code with the
// body).
//
//   rt.kernel: truncf(addf(extf a, extf b))   Add's evaluation, stored as f16
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_VERIFY_LOWERED_KERNELBODIES_H
#define SHARDC_PASSES_VERIFY_LOWERED_KERNELBODIES_H

#include "dialects/rt/Rt.h"

#include "llvm/ADT/MapVector.h"

namespace shardc::verify {

class KernelBodies {
public:
  /// The call's member does `op`.
  void add(rt::CallOp call, unsigned member, mlir::Operation *op);
  /// Each kernel of which all members are known, once. Emits an error at a call
  /// whose kernel computes something else.
  llvm::LogicalResult verify();

private:
  llvm::MapVector<mlir::Operation *, llvm::SmallVector<mlir::Operation *, 4>>
      ops;
};

} // namespace shardc::verify

#endif // SHARDC_PASSES_VERIFY_LOWERED_KERNELBODIES_H
