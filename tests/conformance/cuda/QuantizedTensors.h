//===- QuantizedTensors.h - Integers of all sizes for kernel tests --------===//
#ifndef SHARDC_TESTS_CONFORMANCE_CUDA_QUANTIZEDTENSORS_H
#define SHARDC_TESTS_CONFORMANCE_CUDA_QUANTIZEDTENSORS_H

#include "runtime/kernels/product/IntegerReader.h"
#include "tests/conformance/cuda/KernelComparison.h"

namespace shardc::testing {

inline constexpr artifact::ElementType kQuantizedTypes[] = {
    artifact::ElementType_Int2,  artifact::ElementType_UInt2,
    artifact::ElementType_Int4,  artifact::ElementType_UInt4,
    artifact::ElementType_Int8,  artifact::ElementType_UInt8,
    artifact::ElementType_Int16, artifact::ElementType_UInt16,
    artifact::ElementType_Int32, artifact::ElementType_UInt32};

/// And eight bits of float.
inline constexpr artifact::ElementType kScaledTypes[] = {
    artifact::ElementType_Int2,         artifact::ElementType_UInt2,
    artifact::ElementType_Int4,         artifact::ElementType_UInt4,
    artifact::ElementType_Int8,         artifact::ElementType_UInt8,
    artifact::ElementType_Int16,        artifact::ElementType_UInt16,
    artifact::ElementType_Int32,        artifact::ElementType_UInt32,
    artifact::ElementType_Float8E4M3FN, artifact::ElementType_Float8E4M3FNUZ,
    artifact::ElementType_Float8E5M2,   artifact::ElementType_Float8E5M2FNUZ};

/// Numbers from -8 to 8.
inline Tensor float8s(artifact::ElementType element, const Dims &dims,
                      uint32_t seed) {
  const Tensor numbers = testing::numbers<double>(dims, seed);
  Tensor tensor = Tensor::filled<uint8_t>(dims, 0);
  const auto format = runtime::host::Float8Reader::formatOf(element);
  for (int64_t i = 0; i < tensor.view.numElements(); ++i)
    tensor.view.as<uint8_t>()[i] =
        runtime::encodeFloat8(format, 4 * numbers.view.as<double>()[i], true);
  tensor.view.element = element;
  return tensor;
}

/// Small integers that use all bits of 4 and 2, those of wider types being from -100
/// to 100.
inline Tensor quantized(artifact::ElementType element, const Dims &dims,
                        uint32_t seed = 1) {
  const auto as = [&](auto zero) {
    using T = decltype(zero);
    Tensor tensor = Tensor::filled<T>(dims, T());
    uint32_t state = seed * 2654435761u + 12345u;
    for (int64_t i = 0; i < tensor.view.numElements(); ++i) {
      state = state * 1664525u + 1013904223u;
      const int value = int(state >> 16) % 101;
      tensor.view.as<T>()[i] =
          T(std::is_signed_v<T> && value % 2 ? -value : value);
    }
    return tensor;
  };
  if (runtime::host::isScaledFloat8(element))
    return float8s(element, dims, seed);
  switch (element) {
  case artifact::ElementType_Int8:
    return as(int8_t());
  case artifact::ElementType_UInt8:
    return as(uint8_t());
  case artifact::ElementType_Int16:
    return as(int16_t());
  case artifact::ElementType_UInt16:
    return as(uint16_t());
  case artifact::ElementType_Int32:
    return as(int32_t());
  case artifact::ElementType_UInt32:
    return as(uint32_t());
  default:
    break;
  }
  // Several in a byte: no more than half of the memory is used.
  Tensor tensor = numbers<uint8_t>(dims, seed);
  tensor.view.element = element;
  return tensor;
}

/// Dims order[0], order[1], ... of a tensor whose memory has them in this
/// order: a matrix [k, n] that lies column by column for {1, 0}.
inline Tensor quantizedInOrder(artifact::ElementType element, const Dims &dims,
                               const std::vector<int> &order,
                               uint32_t seed = 1) {
  Dims stored = dims;
  std::vector<int> back(order.size());
  for (size_t d = 0; d < order.size(); ++d) {
    stored[d] = dims[size_t(order[d])];
    back[size_t(order[d])] = int(d);
  }
  return quantized(element, stored, seed).permuted(back);
}

/// Small numbers, so that sums of many products stay near 1.
template <typename T> Tensor scales(const Dims &dims, uint32_t seed = 1) {
  const Tensor tensor = numbers<T>(dims, seed);
  for (int64_t i = 0; i < tensor.view.numElements(); ++i) {
    T &value = tensor.view.as<T>()[i];
    value = T(runtime::host::Compute<T>(value) / 256);
  }
  return tensor;
}

} // namespace shardc::testing

#endif // SHARDC_TESTS_CONFORMANCE_CUDA_QUANTIZEDTENSORS_H
