//===- Float8Product.h - What surrounds cuBLASLt's products of float8 -----===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_PRODUCT_FLOAT8PRODUCT_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_PRODUCT_FLOAT8PRODUCT_H

#include "runtime/device/cuda/kernels/CallStream.h"

namespace shardc::runtime::cuda {

/// The one scale of A and that of B, of the same type, as floats: to[0] and
/// to[1].
Status readScales(const TensorView &scaleA, const TensorView &scaleB, float *to,
                  cudaStream_t stream);

/// C = product * scale of A * scale of B. The product is row-major and of C's
/// dims, as are the views of the scales.
Status scaleProduct(const TensorView &c, const float *product,
                    const TensorView &scaleA, const TensorView &scaleB,
                    cudaStream_t stream);

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_PRODUCT_FLOAT8PRODUCT_H
