//===- HostKernelLibrary.h - Kernels of an artifact, for the host ---------===//
//
// One shared object for each level of x86-64: kernels/x86-64-v3.so. The best
// one that the processor runs is opened; all levels compute the same bits, so
// ranks on different machines agree.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_HOST_HOSTKERNELLIBRARY_H
#define SHARDC_RUNTIME_DEVICE_HOST_HOSTKERNELLIBRARY_H

#include "runtime/device/KernelLibrary.h"

#include <memory>

namespace shardc::runtime {

struct GeneratedKernel {
  std::string name;
  artifact::GeneratedFunction function = nullptr;
  artifact::GeneratedForm form;
};

/// The levels that this processor runs and SHARDC_PROCESSOR leaves, best first.
std::vector<std::string> hostTargets();

/// Artifact: there is no file for this processor, or not what it should hold.
Status openHostKernels(const KernelFiles &files,
                       std::unique_ptr<KernelLibrary> &library);

/// How a generated kernel is called: `call.code` is its GeneratedKernel. Rows
/// are shared out to threads.
Status runGenerated(const KernelCall &call);
int64_t generatedScratchBytes(const KernelCall &call);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_HOST_HOSTKERNELLIBRARY_H
