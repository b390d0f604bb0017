//===- Fault.h - Errors that a kernel finds in its data -------------------===//
//
// A kernel cannot return a status; the stream's next wait reports the first:
//
//   const Fault fault = mayFail(call, "integer division by zero",
//                               StatusCode::InvalidArgument);
//   ... if (divisor == 0) report(fault);                   (on the GPU)
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_FAULT_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_FAULT_H

#include "runtime/device/cuda/kernels/CallStream.h"
#include "runtime/device/cuda/kernels/Launch.h"

namespace shardc::runtime::cuda {

inline __device__ void report(const Fault &fault) {
  atomicCAS(fault.word, 0u, fault.number);
}

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_FAULT_H
