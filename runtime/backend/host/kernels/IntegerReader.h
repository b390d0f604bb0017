//===- IntegerReader.h - Elements of quantised tensors --------------------===//
//
// Reads integers of 4 to 32 bits by their offset in a view:
//
//   dispatchIntegers(x.element, kName, [&](auto tag) {
//     const typename decltype(tag)::Type read(x);
//     ... read[offset] ...
//   });
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BACKEND_HOST_KERNELS_INTEGERREADER_H
#define SHARDC_RUNTIME_BACKEND_HOST_KERNELS_INTEGERREADER_H

#include "runtime/backend/host/kernels/Dispatch.h"
#include "runtime/exec/SubByte.h"

namespace shardc::runtime::host {

template <typename T> class IntegerReader {
public:
  explicit IntegerReader(const TensorView &view) : data(view.as<T>()) {}
  int64_t operator[](int64_t offset) const { return data[offset]; }

private:
  const T *data;
};

/// Halves of bytes.
template <bool isSigned> class HalfReader {
public:
  static constexpr int kValues = 16;

  explicit HalfReader(const TensorView &view)
      : data(view.data), first(view.skipped) {}
  int64_t operator[](int64_t offset) const {
    return valueOf(readHalf(data, first + offset));
  }
  SHARDC_HOST_DEVICE static int64_t valueOf(unsigned bits) {
    const auto value = static_cast<int64_t>(bits);
    return isSigned ? (value ^ 8) - 8 : value;
  }

  /// Calls body(i, bits) for the elements from `offset` on, two a byte.
  template <typename Body>
  void forEach(int64_t offset, int64_t count, Body &&body) const {
    int64_t i = 0, at = first + offset;
    if ((at & 1) && count > 0)
      body(i++, readHalf(data, at++));
    const std::byte *bytes = data + (at >> 1);
    for (; i + 1 < count; i += 2, ++bytes) {
      const auto pair = std::to_integer<unsigned>(*bytes);
      body(i, pair & 15);
      body(i + 1, pair >> 4);
    }
    if (i < count)
      body(i, std::to_integer<unsigned>(*bytes) & 15);
  }

private:
  const std::byte *data;
  int64_t first;
};

/// Calls body with the tag of the reader for `element`; it returns Status.
template <typename Body>
Status dispatchIntegers(artifact::ElementType element, std::string_view kernel,
                        Body &&body) {
  if (element == artifact::ElementType_Int4)
    return body(Tag<HalfReader<true>>());
  if (element == artifact::ElementType_UInt4)
    return body(Tag<HalfReader<false>>());
  using Types = TypeList<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t>;
  return dispatch(Types(), element, kernel, [&](auto tag) {
    return body(Tag<IntegerReader<typename decltype(tag)::Type>>());
  });
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_BACKEND_HOST_KERNELS_INTEGERREADER_H
