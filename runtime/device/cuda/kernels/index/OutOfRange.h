//===- OutOfRange.h - What is said of an index that a dim has not ---------===//
//
// Indices follow from what the caller gave, so the stream reports this fault as an
// InvalidArgument; all others are the artifact's or the runtime's.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_INDEX_OUTOFRANGE_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_INDEX_OUTOFRANGE_H

namespace shardc::runtime::cuda {

inline constexpr char kOutOfRange[] = "an index is outside of its dim";

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_INDEX_OUTOFRANGE_H
