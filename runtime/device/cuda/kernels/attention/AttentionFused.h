//===- AttentionFused.h - What of attention a library may do --------------===//
//
// 16-bit floats, many queries, and either causality (from the first or the
// last key) or a mask, which becomes a bias. Anything else is for the plugin's
// own kernels, which know all of it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ATTENTIONFUSED_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ATTENTIONFUSED_H

#include "runtime/device/cuda/attention/FusedAttention.h"
#include "runtime/device/cuda/kernels/attention/AttentionKernels.h"

#include <optional>

namespace shardc::runtime::cuda {

/// The problem for a library, strides of a bias left out; none if it is not
/// for one.
std::optional<FusedAttentionShape> fusedShapeOf(const AttentionProblem &problem,
                                                artifact::ElementType element);

/// For the bias, and the copies of operands that are padded; 0 where there is no
/// library.
int64_t fusedScratchBytes(const AttentionProblem &problem,
                          artifact::ElementType element);

/// `isDone` says whether there was a library that could.
Status attendFused(const AttentionProblem &problem,
                   artifact::ElementType element, const KernelCall &call,
                   bool &isDone);

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ATTENTIONFUSED_H
