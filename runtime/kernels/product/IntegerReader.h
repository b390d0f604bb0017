//===- IntegerReader.h - Elements of quantised tensors --------------------===//
//
// Reads integers of 2 to 32 bits, or eight bits of float, by their offset in a
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

/// Integers that share bytes.
template <int Bits, bool isSigned> class FieldReader {
public:
  static constexpr int kValues = 1 << Bits;

  explicit FieldReader(const TensorView &view)
      : data(view.data), first(view.skipped) {}
  int64_t operator[](int64_t offset) const {
    return valueOf(readField(data, first + offset, Bits));
  }
  SHARDC_HOST_DEVICE static int64_t valueOf(unsigned bits) {
    constexpr int64_t sign = kValues / 2;
    const auto value = static_cast<int64_t>(bits);
    return isSigned ? (value ^ sign) - sign : value;
  }

  /// Calls body(i, bits) for the elements from `offset` on, byte by byte.
  template <typename Body>
  void forEach(int64_t offset, int64_t count, Body &&body) const {
    constexpr int ofByte = 8 / Bits;
    int64_t i = 0, at = first + offset;
    for (; i < count && at % ofByte != 0; ++i, ++at)
      body(i, readField(data, at, Bits));
    for (; i + ofByte <= count; i += ofByte, at += ofByte) {
      const auto byte = std::to_integer<unsigned>(data[at / ofByte]);
      for (int part = 0; part < ofByte; ++part)
        body(i + part, (byte >> (part * Bits)) & (kValues - 1));
    }
    for (; i < count; ++i, ++at)
      body(i, readField(data, at, Bits));
  }

private:
  const std::byte *data;
  int64_t first;
};

/// Calls body with the tag of the reader for `element`; it returns Status.
template <typename Body>
Status dispatchIntegers(artifact::ElementType element, std::string_view kernel,
                        Body &&body) {
  if (element == artifact::ElementType_Int2)
    return body(Tag<FieldReader<2, true>>());
  if (element == artifact::ElementType_UInt2)
    return body(Tag<FieldReader<2, false>>());
  if (element == artifact::ElementType_Int4)
    return body(Tag<FieldReader<4, true>>());
  if (element == artifact::ElementType_UInt4)
    return body(Tag<FieldReader<4, false>>());
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
