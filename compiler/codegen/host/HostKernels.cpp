//===- HostKernels.cpp - A module's kernels as libraries for CPUs ---------===//

#include "compiler/codegen/host/HostKernels.h"

#include "compiler/codegen/host/KernelCache.h"
#include "compiler/codegen/rows/LowerRows.h"
#include "compiler/codegen/rows/RowEmitter.h"
#include "dialects/rt/Rt.h"

using namespace mlir;

namespace shardc::codegen {

static constexpr StringLiteral kTargets[] = {"x86-64-v3", "x86-64-v4"};

static std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto kernel : module.getOps<rt::KernelOp>())
    kernel.print(os, OpPrintingFlags().useLocalScope());
  return text;
}

FailureOr<std::vector<KernelLibrary>> generateHostKernels(ModuleOp module) {
  std::vector<KernelLibrary> libraries;
  const std::string text = textOf(module);
  if (text.empty())
    return libraries;
  OwningOpRef<ModuleOp> lowered;
  for (StringRef target : kTargets) {
    const std::string key = cacheKey(text, target);
    if (std::optional<std::string> known = readCache(key)) {
      libraries.push_back({target.str(), std::move(*known)});
      continue;
    }
    if (!lowered) {
      auto made = lowerRows(module, [](rt::KernelOp kernel, ModuleOp to) {
        emitRows(kernel, RowTarget(), to);
      });
      if (failed(made))
        return module.emitError("its kernels cannot be generated; use "
                                "--kernels reference");
      lowered = std::move(*made);
    }
    std::string why, bytes = compileObject(*lowered, target, why);
    if (!bytes.empty())
      bytes = linkShared(bytes, why);
    if (bytes.empty())
      return module.emitError("its kernels cannot be generated for ")
             << target << ": " << why << "; use --kernels reference";
    writeCache(key, bytes);
    libraries.push_back({target.str(), std::move(bytes)});
  }
  return libraries;
}

} // namespace shardc::codegen
