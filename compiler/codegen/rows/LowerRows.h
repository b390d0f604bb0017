//===- LowerRows.h - From kernels to the llvm dialect ---------------------===//
#ifndef SHARDC_COMPILER_CODEGEN_ROWS_LOWERROWS_H
#define SHARDC_COMPILER_CODEGEN_ROWS_LOWERROWS_H

#include "dialects/rt/Rt.h"

#include "mlir/IR/BuiltinOps.h"

namespace shardc::codegen {

/// A module of the llvm dialect with what `emit` makes of each kernel.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
lowerRows(mlir::ModuleOp module,
          llvm::function_ref<void(rt::KernelOp, mlir::ModuleOp)> emit);

} // namespace shardc::codegen

#endif // SHARDC_COMPILER_CODEGEN_ROWS_LOWERROWS_H
