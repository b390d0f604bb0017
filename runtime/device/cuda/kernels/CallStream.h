//===- CallStream.h - What kernels in CUDA C++ need of their stream -------===//
//
// So that nvcc need not read CudaStream.h.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_CALLSTREAM_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_CALLSTREAM_H

#include "runtime/kernels/Kernel.h"

#include <cuda_runtime_api.h>

namespace shardc::runtime::cuda {

/// Where a launch says that its data are wrong, see Fault.h.
struct Fault {
  unsigned *word = nullptr;
  unsigned number = 0;
};

cudaStream_t streamOf(const KernelCall &call);

/// `problem` is the message: text that stays. `code` says whose it is:
/// InvalidArgument of what follows from the inputs of a request.
Fault mayFail(const KernelCall &call, const char *problem,
              StatusCode code = StatusCode::Artifact);

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_CALLSTREAM_H
