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
  kPagedSinks,
  kKeyScales,
  kValueScales
};

/// Slots that say why they are none (compiler: dialects/onnx/ops/Pages.h).
inline constexpr int64_t kSlotOfOtherPositions = INT64_MAX;
inline constexpr int64_t kSlotOfTooManyPositions = INT64_MAX - 1;

/// Of the places of a page those that are here: `places` = [first, all] of a call
/// whose rank has a part of them, behind one another.
///
///   16 places on 2 ranks, the second one: first 8, here 8, all 16
struct PagePlaces {
  int64_t first, here, all;

  static PagePlaces of(const KernelCall &call, int64_t here) {
    const KernelAttribute *places = call.find("places");
    return places && places->numInts == 2
               ? PagePlaces{places->ints[0], here, places->ints[1]}
               : PagePlaces{0, here, here};
  }
  /// Part number `i` of `count`.
  PagePlaces part(int64_t i, int64_t count) const {
    return {first + i * (here / count), here / count, all};
  }
};

/// Behind the values that a query has seen of a part: largest score and sum.
inline constexpr int64_t kSeenStatistics = 2;

Status checkPagedAttention(const KernelCall &call);
Status checkPagedAttentionParts(const KernelCall &call);
Status checkMergeAttention(const KernelCall &call);
Status checkPageWrite(const KernelCall &call, int &axis);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_ATTENTION_PAGEDCHECKS_H
