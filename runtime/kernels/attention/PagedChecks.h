//===- PagedChecks.h - Operands of paged attention that fit ---------------===//
//
// Of PageWrite and PagedAttention, on whatever device; what their indices say
// is apart, since only the device may have it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_ATTENTION_PAGEDCHECKS_H
#define SHARDC_RUNTIME_KERNELS_ATTENTION_PAGEDCHECKS_H

#include "runtime/kernels/Kernel.h"

namespace shardc::runtime::host {

/// Numbers of the inputs of PagedAttention.
enum PagedInput : int {
  kQuery,
  kKeys,
  kValues,
  kPages,
  kPast,
  kFirst,
  kPagedMask,
  kPagedSinks
};

/// Slots that say why they are none (compiler: dialects/onnx/ops/Pages.h).
inline constexpr int64_t kSlotOfOtherPositions = INT64_MAX;
inline constexpr int64_t kSlotOfTooManyPositions = INT64_MAX - 1;

Status checkPagedAttention(const KernelCall &call);
Status checkPageWrite(const KernelCall &call, int &axis);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_ATTENTION_PAGEDCHECKS_H
