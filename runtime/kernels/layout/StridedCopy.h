//===- StridedCopy.h - Move elements between strided views ----------------===//
//
// The nest is prepared once and run on many pairs of addresses: Gather copies
// one slice per index with it. Runs that are contiguous on both sides go by
// memcpy.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_LAYOUT_STRIDEDCOPY_H
#define SHARDC_RUNTIME_KERNELS_LAYOUT_STRIDEDCOPY_H

#include "runtime/kernels/StridedLoop.h"

#include <cstddef>
#include <cstdint>

namespace shardc::runtime::host {

class StridedCopy {
public:
  /// Precondition: equal dims and element types.
  StridedCopy(const TensorView &to, const TensorView &from)
      : nest(nestOf(to, from)), bytes(artifact::elementBytes(to.element)) {}

  /// Fills `to` with the one element that it is run on.
  explicit StridedCopy(const TensorView &to)
      : StridedCopy(to, broadcastOf(to)) {}

  /// Copies between views of the same strides that start at other addresses.
  void operator()(std::byte *to, const std::byte *from) const;
  /// The same, where it is worth that, on all threads of the rank.
  void onThreads(std::byte *to, const std::byte *from) const;

private:
  static TensorView broadcastOf(TensorView view) {
    for (int64_t &stride : view.strides)
      stride = 0;
    return view;
  }

  LoopNest<2> nest;
  int64_t bytes;
};

/// All bits 0, which is zero or false in every element type.
inline constexpr std::byte kZeroElement[8] = {};

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_LAYOUT_STRIDEDCOPY_H
