//===- CheckKernels.h - Generated code against what it stands for ---------===//
//
// The first time that a library of kernels is made, each of them is run on a
// few rows here and compared with rt::RowReference: ordinary numbers, large and
// tiny ones, ties, zeros of both signs, infinities and NaN, in rows that fill
// vectors and leave a rest.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_CODEGEN_CHECK_CHECKKERNELS_H
#define SHARDC_COMPILER_CODEGEN_CHECK_CHECKKERNELS_H

#include "mlir/IR/BuiltinOps.h"

namespace shardc::codegen {

/// Whether this machine can run a library of that level of x86-64.
bool canRun(llvm::StringRef target);

/// Emits an error at the first kernel that computes something else than its
/// body says: which row and column, what is there and what was expected.
llvm::LogicalResult checkKernels(mlir::ModuleOp module,
                                 llvm::StringRef library);

} // namespace shardc::codegen

#endif // SHARDC_COMPILER_CODEGEN_CHECK_CHECKKERNELS_H
