//===- HostKernels.cpp - A module's kernels as libraries for CPUs ---------===//

#include "compiler/codegen/host/HostKernels.h"

#include "compiler/codegen/KernelCache.h"
#include "compiler/codegen/check/CheckKernels.h"
#include "compiler/codegen/rows/LowerRows.h"
#include "compiler/codegen/rows/RowEmitter.h"
#include "dialects/rt/Rt.h"

using namespace mlir;

namespace shardc::codegen {

namespace {
struct HostTarget {
  StringLiteral name;
  int64_t width; ///< floats of a register: more would not fit into all of them
};
} // namespace
static constexpr HostTarget kTargets[] = {{"x86-64-v3", 8}, {"x86-64-v4", 16}};

/// "" where that fails, and then why.
static std::string generate(ModuleOp module, const HostTarget &target,
                            std::string &why) {
  RowTarget rows;
  rows.width = target.width;
  auto lowered = lowerRows(module, [&](rt::KernelOp kernel, ModuleOp to) {
    emitRows(kernel, rows, to);
  });
  if (failed(lowered)) {
    why = "they cannot be lowered";
    return "";
  }
  const std::string object = compileObject(**lowered, target.name, why);
  const std::string library = object.empty() ? "" : linkShared(object, why);
  if (library.empty() || !canRun(target.name) ||
      succeeded(checkKernels(module, library)))
    return library;
  why = "they compute something else than they stand for";
  return "";
}

FailureOr<std::vector<KernelLibrary>> generateHostKernels(ModuleOp module) {
  std::vector<KernelLibrary> libraries;
  const std::string text = kernelText(module);
  if (text.empty())
    return libraries;
  for (const HostTarget &target : kTargets) {
    std::string why, bytes = cached(text, target.name, [&] {
                       return generate(module, target, why);
                     });
    if (bytes.empty())
      return module.emitError("its kernels cannot be generated for ")
             << target.name << ": " << why << "; use --kernels reference";
    libraries.push_back({target.name.str(), std::move(bytes)});
  }
  return libraries;
}

} // namespace shardc::codegen
