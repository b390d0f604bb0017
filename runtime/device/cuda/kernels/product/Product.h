//===- Product.h - MatMul and Gemm over views, on a GPU -------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_PRODUCT_PRODUCT_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_PRODUCT_PRODUCT_H

#include "runtime/device/cuda/CudaStream.h"

namespace shardc::runtime::cuda {

/// Scratch for operands that cuBLASLt cannot take as they lie.
int64_t productScratchBytes(const TensorView &a, const TensorView &b,
                            const TensorView &c);

/// The same of a call with MatMul's operands; 0 for others, which run reports.
int64_t matMulScratchBytes(const KernelCall &call);

/// C = epilogue(alpha A B + beta C); views as planProduct wants them. Nothing
/// to sum leaves beta C, which must be 0 or C. An addend of the epilogue is for
/// operands that need no packing.
Status runProduct(const TensorView &a, const TensorView &b, const TensorView &c,
                  double alpha, double beta, const GemmEpilogue &epilogue,
                  std::byte *scratch, CudaStream &stream);

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_PRODUCT_PRODUCT_H
