//===- Dequantize.h - Numbers of a quantised tensor, on a GPU -------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_QUANT_DEQUANTIZE_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_QUANT_DEQUANTIZE_H

#include "runtime/device/cuda/kernels/CallStream.h"
#include "runtime/kernels/quant/Quantized.h"

namespace shardc::runtime::cuda {

/// Scales are of the result's type, zero points of it or of the data's.
Status checkDequantize(std::string_view kernel,
                       const host::QuantizedViews &views);

/// Writes the numbers of the data to the result. Attributes are those of `call`
/// (Quantized.h). Precondition: checkDequantize.
Status dequantize(const KernelCall &call, std::string_view kernel,
                  const host::QuantizedViews &views, cudaStream_t stream);

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_QUANT_DEQUANTIZE_H
