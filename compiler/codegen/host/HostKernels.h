//===- HostKernels.h - A module's kernels as libraries for CPUs -----------===//
//
// Every rt.kernel of a module, compiled for each level of x86-64 that the
// runtime chooses from when it opens the artifact. The bytes depend on the
// kernels alone.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_CODEGEN_HOST_HOSTKERNELS_H
#define SHARDC_COMPILER_CODEGEN_HOST_HOSTKERNELS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace shardc::codegen {

struct KernelLibrary {
  std::string target; ///< "x86-64-v3"
  std::string bytes;  ///< of the shared object
};

/// None for a module without kernels. Taken from the cache where they were made
/// before. An error says how to do without.
mlir::FailureOr<std::vector<KernelLibrary>>
generateHostKernels(mlir::ModuleOp module);

//===--- Its parts --------------------------------------------------------===//

/// The kernels as a module of the llvm dialect, with vectors of `width`
/// columns.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
lowerKernels(mlir::ModuleOp module, int64_t width);

/// An object file for `cpu`; "" where LLVM cannot make one, and then why.
std::string compileObject(mlir::ModuleOp lowered, llvm::StringRef cpu,
                          std::string &why);

/// The object as a shared one; "" where that fails, and then why.
std::string linkShared(llvm::StringRef object, std::string &why);

} // namespace shardc::codegen

#endif // SHARDC_COMPILER_CODEGEN_HOST_HOSTKERNELS_H
