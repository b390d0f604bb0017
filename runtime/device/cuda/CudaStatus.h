//===- CudaStatus.h - Errors of CUDA and its libraries --------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_CUDASTATUS_H
#define SHARDC_RUNTIME_DEVICE_CUDA_CUDASTATUS_H

#include "runtime/base/Message.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>

namespace shardc::runtime {

/// "cudaMemcpyAsync: an illegal memory access was encountered"
inline Status cudaStatus(cudaError_t error, const char *what) {
  if (error == cudaSuccess)
    return Status::ok();
  // Else the next call would report it again, if it is not one that stays.
  (void)cudaGetLastError();
  return artifactError(what, ": ", cudaGetErrorString(error));
}

inline Status cublasStatus(cublasStatus_t error, const char *what) {
  return error == CUBLAS_STATUS_SUCCESS
             ? Status::ok()
             : artifactError(what, ": ", cublasLtGetStatusString(error));
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_CUDASTATUS_H
