//===- FieldWeights.h - Quantised weights for tests of products -----------===//
#ifndef SHARDC_TESTS_UNIT_KERNELS_FIELDWEIGHTS_H
#define SHARDC_TESTS_UNIT_KERNELS_FIELDWEIGHTS_H

#include "tests/unit/kernels/KernelTest.h"

#include <algorithm>
#include <cmath>

namespace shardc::runtime::host {

using artifact::ElementType;

inline constexpr ElementType kElements[] = {
    artifact::ElementType_Int2, artifact::ElementType_UInt2,
    artifact::ElementType_Int4, artifact::ElementType_UInt4,
    artifact::ElementType_Int8, artifact::ElementType_UInt8};

inline int bitsOf(ElementType element) {
  return static_cast<int>(artifact::elementBits(element));
}
inline bool isSigned(ElementType element) {
  return element == artifact::ElementType_Int2 ||
         element == artifact::ElementType_Int4 ||
         element == artifact::ElementType_Int8;
}

/// Integers [rows, columns], row after row of `leading` elements, with values
/// that a seed gives.
struct Fields {
  Fields(ElementType element, int64_t rows, int64_t columns, uint32_t seed,
         int64_t leading = 0)
      : rows(rows), columns(columns),
        tensor(Tensor::filled<uint8_t>({rows * std::max(leading, columns) + 1},
                                       0)) {
    leading = std::max(leading, columns);
    const int bits = bitsOf(element), range = 1 << bits;
    for (int64_t i = 0; i < rows * columns; ++i) {
      seed = seed * 1664525u + 1013904223u;
      const int value = int(seed >> 16) % range;
      values.push_back(isSigned(element) ? value - range / 2 : value);
      const int64_t at = i / columns * leading + i % columns;
      const auto field = uint8_t(values.back() & (range - 1));
      auto *bytes = tensor.view.as<uint8_t>();
      bytes[at * bits / 8] |= uint8_t(field << (at * bits % 8));
    }
    tensor.view.element = element;
    tensor.view.rank = 2;
    tensor.view.dims[0] = rows;
    tensor.view.dims[1] = columns;
    tensor.view.strides[0] = leading;
    tensor.view.strides[1] = 1;
  }
  int at(int64_t row, int64_t column) const {
    return values[size_t(row * columns + column)];
  }

  int64_t rows, columns;
  std::vector<int> values;
  Tensor tensor;
};

/// Values whose sums round differently in each order.
inline Tensor fractions(const Dims &dims, uint32_t seed) {
  Tensor tensor = Tensor::filled<float>(dims, 0);
  for (int64_t i = 0; i < tensor.view.numElements(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    tensor.view.as<float>()[i] = std::sin(float(seed >> 8));
  }
  return tensor;
}

struct Case {
  ElementType element;
  bool hasDenseColumns;   ///< weights and parameters lie as [n, ...]
  int64_t m, k, n, block; ///< block 0: a scale for each column
};

inline int64_t blocksOf(const Case &c) {
  return c.block == 0 ? 1 : (c.k + c.block - 1) / c.block;
}

/// As the kernel sees a parameter or the weights: [k or blocks, n].
inline Tensor seen(const Case &c, const Tensor &tensor) {
  return c.hasDenseColumns ? tensor.permuted({1, 0}) : tensor;
}

/// Weights with a scale and a zero point for each block and column.
struct Weights {
  explicit Weights(const Case &c, int64_t padding = 0)
      : c(c), data(c.element, rows(c.k), columns(c.k), 7,
                   padding == 0 ? 0 : columns(c.k) + padding),
        zeros(c.element, rows(blocksOf(c)), columns(blocksOf(c)), 8) {}

  int64_t rows(int64_t k) const { return c.hasDenseColumns ? c.n : k; }
  int64_t columns(int64_t k) const { return c.hasDenseColumns ? k : c.n; }
  int64_t blockOf(int64_t l) const { return c.block == 0 ? 0 : l / c.block; }
  int dataAt(int64_t l, int64_t j) const {
    return c.hasDenseColumns ? data.at(j, l) : data.at(l, j);
  }
  int zeroAt(int64_t l, int64_t j) const {
    return c.hasDenseColumns ? zeros.at(j, blockOf(l))
                             : zeros.at(blockOf(l), j);
  }
  Dims parameterDims() const {
    return {rows(blocksOf(c)), columns(blocksOf(c))};
  }

  Case c;
  Fields data, zeros;
};

inline Attributes blocks(const Case &c) {
  Attributes none;
  return c.block == 0
             ? none
             : Attributes().ints("axis", {0}).ints("block_size", {c.block});
}

inline Tensor parameter(const Case &c, const Tensor &tensor) {
  const Tensor view = seen(c, tensor);
  return c.block == 0 ? view.broadcast({c.k, c.n}) : view;
}

} // namespace shardc::runtime::host

#endif // SHARDC_TESTS_UNIT_KERNELS_FIELDWEIGHTS_H
