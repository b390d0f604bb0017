//===- PoolWindow.h - Operands of pooling ---------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_IMAGE_POOLWINDOW_H
#define SHARDC_RUNTIME_KERNELS_IMAGE_POOLWINDOW_H

#include "runtime/base/HostDevice.h"
#include "runtime/kernels/Check.h"

#include <limits>
#include <type_traits>

namespace shardc::runtime::host {

/// What the attributes say of X and Y.
struct PoolWindow {
  int spatial = 0;
  int64_t in[kMaxRank], taps[kMaxRank], step[kMaxRank], dilation[kMaxRank];
  int64_t before[kMaxRank], after[kMaxRank];
  int64_t stride[kMaxRank]; ///< of X, in elements
  /// Of an index along the dim in the result, for those that tell places.
  int64_t place[kMaxRank] = {};
};

/// Of windows [first, first + count) along a dim with `step` elements from one
/// to the next, those whose element `offset` behind the corner of the first
/// window of all lies in [0, size): windows at the border lack some.
struct WindowRange {
  int64_t begin, end;

  WindowRange(int64_t first, int64_t count, int64_t offset, int64_t step,
              int64_t size)
      : begin(offset >= 0 ? 0 : (step - 1 - offset) / step),
        end(offset >= size ? 0 : (size - 1 - offset) / step + 1) {
    begin = begin < first ? first : begin;
    end = end > first + count ? first + count : end;
    end = end < begin ? begin : end;
  }
};

inline Status readPoolWindow(const KernelCall &call, const char *name,
                             PoolWindow &w) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, name, 1));
  const TensorView &x = call.inputs[0], &y = call.outputs[0];
  w.spatial = x.rank - 2;
  if (w.spatial < 1 || y.rank != x.rank || x.dims[0] != y.dims[0] ||
      x.dims[1] != y.dims[1])
    return failure(name, "no kernel for X " + dimsToString(x) + ", Y " +
                             dimsToString(y));
  const KernelAttribute *lists[] = {call.find("kernel_shape"),
                                    call.find("strides"),
                                    call.find("dilations"), call.find("pads")};
  for (const KernelAttribute *list : lists)
    if (!list || list->numInts != w.spatial * (list == lists[3] ? 2 : 1))
      return failure(name,
                     "attributes of a window do not fit X " + dimsToString(x));
  for (int d = 0; d < w.spatial; ++d) {
    w.in[d] = x.dims[d + 2];
    w.stride[d] = x.strides[d + 2];
    w.taps[d] = lists[0]->ints[d];
    w.step[d] = lists[1]->ints[d];
    w.dilation[d] = lists[2]->ints[d];
    w.before[d] = lists[3]->ints[d];
    w.after[d] = lists[3]->ints[d + w.spatial];
    if (w.taps[d] < 1 || w.step[d] < 1 || w.dilation[d] < 1)
      return failure(name, "a window below 1");
  }
  return expectElement(name, x.element, y);
}

/// What every number is larger than, or no smaller.
template <typename C> SHARDC_HOST_DEVICE constexpr C least() {
  if constexpr (std::is_integral_v<C>)
    return std::numeric_limits<C>::min();
  else
    return -std::numeric_limits<C>::infinity();
}

/// Fills `place`: row-major or, with storage_order 1, column-major; the size of
/// an image.
inline int64_t orderPlaces(const KernelCall &call, PoolWindow &w) {
  const bool isColumnMajor = call.intOr("storage_order", 0) != 0;
  int64_t size = 1;
  for (int i = 0; i < w.spatial; ++i) {
    const int d = isColumnMajor ? i : w.spatial - 1 - i;
    w.place[d] = size;
    size *= w.in[d];
  }
  return size;
}

/// Places of MaxPool's maxima, its second output, are there or fit.
inline Status expectPlaces(const KernelCall &call, const char *name) {
  if (hasOutput(call, 1)) {
    const TensorView &y = call.outputs[0], &places = call.outputs[1];
    SHARDC_RETURN_IF_ERROR(
        expectElement(name, artifact::ElementType_Int64, places));
    SHARDC_RETURN_IF_ERROR(expectDims(name, y, places));
    if (!y.isContiguous() || !places.isContiguous())
      return failure(name, "places of a result with gaps");
  }
  return Status::ok();
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_IMAGE_POOLWINDOW_H
