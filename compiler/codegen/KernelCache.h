//===- KernelCache.h - Libraries that were made before --------------------===//
//
// One file each below $SHARDC_CACHE_DIR/kernels, named for the hash of what it
// was made of. Files appear whole or not at all, and carry the hash of their
// bytes; one that does not match counts as absent. A cache that cannot be
// written is no error.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_CODEGEN_KERNELCACHE_H
#define SHARDC_COMPILER_CODEGEN_KERNELCACHE_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace shardc::codegen {

/// All of the module's kernels, whose order and names count; "" for none.
std::string kernelText(mlir::ModuleOp module);

/// What `make` makes, and checks, of kernels for a target, or what this very build of the
/// compiler made of them before. "" is no result, and not kept.
std::string cached(llvm::StringRef kernels, llvm::StringRef target,
                   llvm::function_ref<std::string()> make);

} // namespace shardc::codegen

#endif // SHARDC_COMPILER_CODEGEN_KERNELCACHE_H
