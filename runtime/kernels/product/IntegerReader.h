//===- IntegerReader.h - Elements of quantised tensors --------------------===//
//
// Reads integers of 4 to 32 bits, or eight bits of float, by their offset in a
// view:
//
//   dispatchQuantized(x.element, kName, [&](auto tag) {
//     const typename decltype(tag)::Type read(x);
//     ... read[offset] ...
//   });
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_PRODUCT_INTEGERREADER_H
#define SHARDC_RUNTIME_KERNELS_PRODUCT_INTEGERREADER_H

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/elementwise/CastFloat8.h"
#include "runtime/tensor/SubByte.h"

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

/// Eight bits of float that have a mantissa: scaled by tensors of scales.
inline bool isScaledFloat8(artifact::ElementType element) {
  return isFloat8(element) && element != artifact::ElementType_Float8E8M0;
}

class Float8Reader {
public:
  explicit Float8Reader(const TensorView &view)
      : data(view.as<uint8_t>()), decode(formatOf(view.element)) {}
  float operator[](int64_t offset) const { return decode(data[offset]); }

  static Float8Format formatOf(artifact::ElementType element) {
    Float8Codec codec;
    findFloat8(element, codec);
    return codec.format;
  }

private:
  const uint8_t *data;
  Float8Decoder decode;
};

/// Sixteen bits, which are numbers as they are.
class BFloatReader {
public:
  explicit BFloatReader(const TensorView &view) : data(view.as<BFloat>()) {}
  float operator[](int64_t offset) const { return toFloat(data[offset]); }

private:
  const BFloat *data;
};

/// The same for all that has a reader.
template <typename Body>
Status dispatchQuantized(artifact::ElementType element, std::string_view kernel,
                         Body &&body) {
  if (element == artifact::ElementType_BFloat16)
    return body(Tag<BFloatReader>());
  return isScaledFloat8(element) ? body(Tag<Float8Reader>())
                                 : dispatchIntegers(element, kernel, body);
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_PRODUCT_INTEGERREADER_H
