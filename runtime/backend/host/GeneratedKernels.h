//===- GeneratedKernels.h - The kernels that came with an artifact --------===//
//
// An artifact may hold native code for the calls between library calls, one
// shared object for each level of x86-64: kernels/x86-64-v3.so. The best one
// that the processor runs is opened; all levels compute the same bits, so ranks
// on different machines agree.
//
// Kernels see rows: the runtime folds the other dims of a call's views into
// rows, as far as all strides allow it, and shares rows out to threads.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BACKEND_HOST_GENERATEDKERNELS_H
#define SHARDC_RUNTIME_BACKEND_HOST_GENERATEDKERNELS_H

#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/Generated.h"
#include "runtime/exec/Kernel.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::runtime {

/// Whether the backend looks for a kernel of that name in the artifact.
inline bool isGeneratedKernel(std::string_view name) {
  return name.starts_with(artifact::kGeneratedPrefix);
}

struct GeneratedKernel {
  std::string name;
  artifact::GeneratedFunction function = nullptr;
  artifact::GeneratedForm form;
};

class GeneratedKernels {
public:
  /// Opens what the programs of the artifact call, if anything, and checks each
  /// call's operands against its kernel's form.
  static Status open(const Artifact &artifact, GeneratedKernels &kernels);

  /// Null for a name that no program calls. Lives as long as this.
  const Kernel *find(std::string_view name) const;

private:
  Status openLibrary(const Artifact &artifact);
  Status add(const artifact::Program &program,
             const artifact::Instruction &instruction);
  Status resolve(const std::string &name, GeneratedKernel &kernel) const;

  struct Entry {
    GeneratedKernel generated;
    Kernel kernel;
  };
  std::shared_ptr<void> library;
  std::string path;
  std::map<std::string, std::unique_ptr<Entry>, std::less<>> entries;
};

/// How a generated kernel is called: `call.code` is its GeneratedKernel.
Status runGenerated(const KernelCall &call);
int64_t generatedScratchBytes(const KernelCall &call);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BACKEND_HOST_GENERATEDKERNELS_H
