//===- CudaKernelLibrary.h - Kernels of an artifact, for a GPU ------------===//
//
// kernels/sm_90.cubin for the GPU's own architecture, or kernels/compute_80.ptx
// for one that is newer than all there are: the driver compiles that.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_CUDAKERNELLIBRARY_H
#define SHARDC_RUNTIME_DEVICE_CUDA_CUDAKERNELLIBRARY_H

#include "runtime/device/Backend.h"

namespace shardc::runtime {

/// "sm_90" and what there is: the file for that GPU, "" if there is none. A
/// cubin runs on its own and on later minor versions of its major one.
std::string chooseKernelFile(std::string_view architecture,
                             const KernelFiles &files);

Status openCudaKernels(int device, std::string_view architecture,
                       const KernelFiles &files,
                       std::unique_ptr<KernelLibrary> &library);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_CUDAKERNELLIBRARY_H
