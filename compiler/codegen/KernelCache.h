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

#include <optional>
#include <string>

namespace shardc::codegen {

/// All of the module's kernels, whose order and names count; "" for none.
std::string kernelText(mlir::ModuleOp module);

/// Of kernels for a target, by this very build of the compiler.
std::string cacheKey(llvm::StringRef kernels, llvm::StringRef target);

std::optional<std::string> readCache(llvm::StringRef key);
void writeCache(llvm::StringRef key, llvm::StringRef bytes);

} // namespace shardc::codegen

#endif // SHARDC_COMPILER_CODEGEN_KERNELCACHE_H
