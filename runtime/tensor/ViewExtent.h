//===- ViewExtent.h - The bytes that a view spans -------------------------===//
#ifndef SHARDC_RUNTIME_TENSOR_VIEWEXTENT_H
#define SHARDC_RUNTIME_TENSOR_VIEWEXTENT_H

#include "runtime/artifact/ElementNames.h"
#include "runtime/tensor/TensorView.h"

#include <span>

namespace shardc::runtime {

/// The bytes from the first element in memory to the last one. No dim is 0.
inline std::span<const std::byte> extentOf(const TensorView &view) {
  const int64_t bits = artifact::elementBits(view.element);
  int64_t first = view.skipped, last = view.skipped;
  for (int d = 0; d < view.rank; ++d) {
    const int64_t reach = (view.dims[d] - 1) * view.strides[d];
    (reach < 0 ? first : last) += reach;
  }
  const int64_t begin = first * bits >> 3, end = ((last + 1) * bits + 7) / 8;
  return {view.data + begin, static_cast<size_t>(end - begin)};
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TENSOR_VIEWEXTENT_H
