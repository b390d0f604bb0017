//===- CudaKernels.h - The kernels of this backend, by name ---------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_CUDAKERNELS_H
#define SHARDC_RUNTIME_DEVICE_CUDA_CUDAKERNELS_H

#include "runtime/kernels/Kernel.h"

namespace shardc::runtime {

/// Null if there is none.
const Kernel *findCudaKernel(std::string_view name);

/// Registers a kernel before the library is opened for use. One op, one file:
/// runtime/device/cuda/kernels/*/<Op>.cpp.
struct CudaKernelRegistration {
  CudaKernelRegistration(std::string_view name, Kernel kernel);
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_CUDAKERNELS_H
