//===- StreamState.h - What is asked of streams and events ----------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_STREAMSTATE_H
#define SHARDC_RUNTIME_DEVICE_CUDA_STREAMSTATE_H

#include <cuda_runtime_api.h>

namespace shardc::runtime {

/// That work is under way is no error, and must not become one of the next
/// launch (cudaGetLastError).
inline cudaError_t polled(cudaError_t error) {
  if (error == cudaErrorNotReady)
    (void)cudaGetLastError();
  return error;
}

inline bool isCapturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) == cudaSuccess &&
         status != cudaStreamCaptureStatusNone;
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_STREAMSTATE_H
