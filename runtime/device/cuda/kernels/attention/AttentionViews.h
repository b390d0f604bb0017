//===- AttentionViews.h - Operands of attention as its kernels take them --===//
//
// Not for nvcc, which need not read what calls are.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ATTENTIONVIEWS_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ATTENTIONVIEWS_H

#include "runtime/device/cuda/kernels/attention/AttentionKernels.h"
#include "runtime/kernels/Check.h"

#include <algorithm>

namespace shardc::runtime::cuda {

/// Of a view of four dims.
inline AttentionView viewOf(const TensorView &view) {
  AttentionView result{view.data, {}};
  std::copy(view.strides, view.strides + 4, result.strides);
  return result;
}

/// Operands that the call may lack, by number.
inline void setMask(const KernelCall &call, int input,
                    AttentionProblem &problem) {
  if (!host::hasInput(call, input))
    return;
  const TensorView &mask = call.inputs[input];
  problem.mask = viewOf(mask);
  problem.maskKind = mask.element == artifact::ElementType_Bool
                         ? AttentionMask::Shown
                         : AttentionMask::Added;
}
inline void setSinks(const KernelCall &call, int input,
                     AttentionProblem &problem) {
  if (!host::hasInput(call, input))
    return;
  problem.sinks = call.inputs[input].data;
  problem.sinkStride = call.inputs[input].strides[0];
}

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ATTENTIONVIEWS_H
