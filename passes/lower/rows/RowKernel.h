//===- RowKernel.h - From a group of calls to a kernel --------------------===//
#ifndef SHARDC_PASSES_LOWER_ROWS_ROWKERNEL_H
#define SHARDC_PASSES_LOWER_ROWS_ROWKERNEL_H

#include "passes/lower/rows/RowCall.h"

namespace shardc::lower {

/// The kernels of a module, each body once. They are named for what they
/// compute and the hash of their body: rows_Swish_Mul_1f6b0c3a5d2e.
class KernelTable {
public:
  explicit KernelTable(mlir::ModuleOp module) : module(module) {}

  /// Adds `kernel`, or erases it in favour of an equal one; its name.
  mlir::StringAttr add(rt::KernelOp kernel, llvm::StringRef what);
  size_t size() const { return byBody.size(); }

  mlir::ModuleOp module;

private:
  llvm::StringMap<mlir::StringAttr> byBody;
};

/// The nodes of these calls, the first ones by name.
mlir::Location nodesOf(llvm::ArrayRef<rt::CallOp> calls);

/// Replaces the members, in program order, by a call of one kernel where the
/// last one stands. Temporaries that nobody else reads are gone.
void replaceByKernel(llvm::ArrayRef<RowCall *> members, KernelTable &kernels);

} // namespace shardc::lower

#endif // SHARDC_PASSES_LOWER_ROWS_ROWKERNEL_H
