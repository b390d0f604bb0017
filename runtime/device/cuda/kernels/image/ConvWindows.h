//===- ConvWindows.h - What a convolution reads, on a GPU -----------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_IMAGE_CONVWINDOWS_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_IMAGE_CONVWINDOWS_H

#include "runtime/device/cuda/kernels/CallStream.h"
#include "runtime/kernels/image/Convolution.h"

namespace shardc::runtime::cuda {

/// A part of the images and of what an image gives.
struct ConvTurn {
  int64_t image = 0, images = 0, position = 0, positions = 0;
};

/// Writes to `columns` [groups, images, channels and taps, positions] what each
/// position reads.
Status unfold(const host::Convolution &c, const ConvTurn &turn,
              std::byte *columns, cudaStream_t stream);

/// All of Y at once, an element a thread: for few channels a group.
Status convolveDirectly(const host::Convolution &c, cudaStream_t stream);

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_IMAGE_CONVWINDOWS_H
