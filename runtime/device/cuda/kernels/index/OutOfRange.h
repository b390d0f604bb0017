//===- OutOfRange.h - What is said of an index that a dim has not ---------===//
//
// Indices follow from what the caller gave: such a fault is an InvalidArgument.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_INDEX_OUTOFRANGE_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_INDEX_OUTOFRANGE_H

#include "runtime/device/cuda/kernels/CallStream.h"

namespace shardc::runtime::cuda {

inline Fault indexMayFail(const KernelCall &call) {
  return mayFail(call, "an index is outside of its dim",
                 StatusCode::InvalidArgument);
}

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_INDEX_OUTOFRANGE_H
