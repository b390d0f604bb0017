//===- SubByte.h - Elements of half a byte --------------------------------===//
//
// Two elements share a byte, the lower half first, whatever the dims are: a
// row of 3 ends in the middle of a byte, where the next one begins. A view
// starts at an element, `skipped` elements into the byte that it points to:
//
//   bytes 10 32 54 as uint4 [2, 3]     rows 0 1 2 and 3 4 5
//   row 1 of it                        data + 1, skipped 1
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TENSOR_SUBBYTE_H
#define SHARDC_RUNTIME_TENSOR_SUBBYTE_H

#include "runtime/base/HostDevice.h"
#include "runtime/tensor/TensorView.h"

namespace shardc::runtime {

/// The bits of element `index`, which may be negative.
SHARDC_HOST_DEVICE inline unsigned readHalf(const std::byte *data,
                                            int64_t index) {
  const auto byte = std::to_integer<unsigned>(data[index >> 1]);
  return (index & 1) ? byte >> 4 : byte & 15;
}

inline void writeHalf(std::byte *data, int64_t index, unsigned bits) {
  std::byte &byte = data[index >> 1];
  const auto kept = std::to_integer<unsigned>(byte) & ((index & 1) ? 15 : 240);
  byte = std::byte(kept | (bits << ((index & 1) ? 4 : 0)));
}

/// Moves the view's first element by so many.
inline void advance(TensorView &view, int64_t elements) {
  if (!artifact::isSubByte(view.element)) {
    view.data += elements * artifact::elementBytes(view.element);
    return;
  }
  const int64_t first = view.skipped + elements;
  view.data += first >> 1;
  view.skipped = first & 1;
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TENSOR_SUBBYTE_H
