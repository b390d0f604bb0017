//===- SubByte.h - Elements of a part of a byte ---------------------------===//
//
// Two elements of 4 bits share a byte, or four of 2 bits, the lowest bits first,
// whatever the dims are: a row of 3 ends in the middle of a byte, where the next
// one begins. A view starts at an element, `skipped` elements into the byte that
// it points to:
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

/// Element `index`, which may be negative, of elements of so many bits.
SHARDC_HOST_DEVICE inline unsigned readField(const std::byte *data,
                                             int64_t index, int bits) {
  const int64_t at = index * bits;
  const auto byte = std::to_integer<unsigned>(data[at >> 3]);
  return (byte >> (at & 7)) & ((1u << bits) - 1);
}

inline void writeField(std::byte *data, int64_t index, int bits,
                       unsigned field) {
  const int64_t at = index * bits;
  const unsigned mask = ((1u << bits) - 1) << (at & 7);
  std::byte &byte = data[at >> 3];
  byte = std::byte((std::to_integer<unsigned>(byte) & ~mask) |
                   (field << (at & 7)));
}

/// Moves the view's first element by so many.
inline void advance(TensorView &view, int64_t elements) {
  if (!artifact::isSubByte(view.element)) {
    view.data += elements * artifact::elementBytes(view.element);
    return;
  }
  const int64_t bits = artifact::elementBits(view.element);
  const int64_t first = (view.skipped + elements) * bits;
  view.data += first >> 3;
  view.skipped = (first & 7) / bits;
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TENSOR_SUBBYTE_H
