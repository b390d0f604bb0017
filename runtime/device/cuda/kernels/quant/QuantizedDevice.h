//===- QuantizedDevice.h - Quantised tensors, as kernels read them --------===//
//
// What host/kernels/Quantized.h says of a call, as values that a launch takes:
//
//   QuantizedBlocks blocks;
//   SHARDC_RETURN_IF_ERROR(blocks.read(call, kName, views));
//   launch(kernel, ..., Integers(views.data), views.scale.as<T>(),
//          ZeroPoints<T>(views), blocks);
//
// or, for eight bits of float, Float8s(views.data) and ZeroPoints<T, Float8s>.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_QUANT_QUANTIZEDDEVICE_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_QUANT_QUANTIZEDDEVICE_H

#include "runtime/device/cuda/kernels/layout/Nest.h"
#include "runtime/kernels/product/IntegerReader.h"
#include "runtime/kernels/quant/Quantized.h"

namespace shardc::runtime::cuda {

/// Integers of 2 to 32 bits by their offset in a view. Which ones is told apart
/// here, alike for all threads.
struct Integers {
  const std::byte *data = nullptr;
  int64_t first = 0;
  artifact::ElementType element = artifact::ElementType_Int8;

  Integers() = default;
  explicit Integers(const TensorView &view)
      : data(view.data), first(view.skipped), element(view.element) {}

  __device__ int64_t operator[](int64_t at) const {
    switch (element) {
    case artifact::ElementType_Int2:
      return fieldAt<2, true>(at);
    case artifact::ElementType_UInt2:
      return fieldAt<2, false>(at);
    case artifact::ElementType_Int4:
      return fieldAt<4, true>(at);
    case artifact::ElementType_UInt4:
      return fieldAt<4, false>(at);
    case artifact::ElementType_Int8:
      return reinterpret_cast<const int8_t *>(data)[at];
    case artifact::ElementType_UInt8:
      return reinterpret_cast<const uint8_t *>(data)[at];
    case artifact::ElementType_Int16:
      return reinterpret_cast<const int16_t *>(data)[at];
    case artifact::ElementType_UInt16:
      return reinterpret_cast<const uint16_t *>(data)[at];
    case artifact::ElementType_Int32:
      return reinterpret_cast<const int32_t *>(data)[at];
    default:
      return reinterpret_cast<const uint32_t *>(data)[at];
    }
  }

private:
  template <int Bits, bool isSigned>
  __device__ int64_t fieldAt(int64_t at) const {
    return host::FieldReader<Bits, isSigned>::valueOf(
        readField(data, first + at, Bits));
  }
};

/// Whether Integers reads them.
inline bool areIntegers(artifact::ElementType element) {
  return host::dispatchIntegers(element, "", [](auto) { return Status::ok(); })
      .isOk();
}

/// Eight bits of float by their offset in a view.
struct Float8s {
  const uint8_t *data;
  Float8Decoder decode;

  explicit Float8s(const TensorView &view)
      : data(view.as<uint8_t>()),
        decode(host::Float8Reader::formatOf(view.element)) {}
  __device__ float operator[](int64_t at) const { return decode(data[at]); }
};

/// Calls body with the tag of the reader for `element`, which has one.
template <typename Body>
Status withReader(artifact::ElementType element, Body body) {
  return host::isScaledFloat8(element) ? body(host::Tag<Float8s>())
                                       : body(host::Tag<Integers>());
}

/// Zero points of the data's type, numbers of the scale's, or none.
template <typename T, typename Reader = Integers> struct ZeroPoints {
  const T *numbers;
  Reader stored;
  bool isThere;

  explicit ZeroPoints(const host::QuantizedViews &views)
      : numbers(views.zeroPoint.element == views.scale.element
                    ? views.zeroPoint.as<T>()
                    : nullptr),
        stored(views.zeroPoint), isThere(views.hasZeroPoint) {}

  /// x minus the one at an offset.
  template <typename Number>
  __device__ host::Compute<T> subtract(Number x, int64_t at) const {
    using C = host::Compute<T>;
    if (!isThere)
      return C(x);
    return numbers ? C(x) - C(numbers[at])
                   : C(x - static_cast<Number>(stored[at]));
  }
};

/// Where along their dim the parameters of an element are.
struct QuantizedBlocks {
  host::GlobalIndex global;
  int64_t size = 0; ///< 0: no blocks
  int64_t scaleStride = 0, zeroStride = 0;

  /// Error: blocks that the attributes do not describe, or that have no scale.
  Status read(const KernelCall &call, std::string_view kernel,
              const host::QuantizedViews &views) {
    if (!views.hasBlocks || views.data.dims[views.axis] == 0)
      return Status::ok();
    const int axis = views.axis;
    SHARDC_RETURN_IF_ERROR(global.read(call, kernel, views.data.dims[axis]));
    const int64_t last = global.last() / views.blockSize;
    if (global.of(0) < 0 || last >= views.scale.dims[axis])
      return host::failure(kernel,
                           "has no scale for block " + std::to_string(last));
    size = views.blockSize;
    scaleStride = views.scale.strides[axis];
    zeroStride = views.zeroPoint.strides[axis];
    return Status::ok();
  }

  __device__ int64_t blockOf(int64_t place) const {
    if (size == 0)
      return 0;
    const int64_t index = global.of(place);
    // A division of 64 bits takes several times as long as one of 32.
    return (index | size) >> 32 == 0
               ? static_cast<uint32_t>(index) / static_cast<uint32_t>(size)
               : index / size;
  }
  /// Whether each `run` elements along the dim are of one block.
  bool keepsRuns(int64_t run) const {
    return size % run == 0 && (size == 0 || global.largestRun(run) == run);
  }
};

/// Result, data, scale, zero point and place along the blocked dim. Walks along
/// dim `inner` first, `run` elements at a time (the dim has whole ones); -1:
/// none.
inline Nest<5> nestOfQuantized(const host::QuantizedViews &views, int inner,
                               int64_t run = 1) {
  Nest<5> nest;
  const auto append = [&](int d, int64_t step) {
    const bool isBlocked = views.hasBlocks && d == views.axis;
    nest.append(views.result.dims[d] / step,
                {views.result.strides[d] * step, views.data.strides[d] * step,
                 isBlocked ? 0 : views.scale.strides[d] * step,
                 isBlocked ? 0 : views.zeroPoint.strides[d] * step,
                 isBlocked ? step : 0});
  };
  for (int d = 0; d < views.result.rank; ++d)
    if (d != inner)
      append(d, 1);
  if (inner >= 0)
    append(inner, run);
  return nest;
}

/// The dim along which the view is dense; -1: none.
inline int denseDim(const TensorView &view) {
  for (int d = view.rank - 1; d >= 0; --d)
    if (view.strides[d] == 1 && view.dims[d] > 1)
      return d;
  return -1;
}

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_QUANT_QUANTIZEDDEVICE_H
