//===- IntegerPanels.h - Exact products of bytes --------------------------===//
//
// B [k, n] of int8 or uint8 lies in panels of 16 columns, as unsigned bytes: a
// line of 64 bytes has four rows of each column, lines are filled up with zeros
// to 64 rows, and behind them stand the sums of the columns. A is signed. Either
// is moved by 128 where it is not so already, and its zero point with it:
//
//   C[i, j] = dot(A[i], B[j]) - zeroB[j] sum(A[i])
//             - zeroA[i] (sum(B[j]) - k zeroB[j])          modulo 2^32
//
// so that all bits are those of integers, on every processor. Where rows and
// columns have scales, what is stored is scaleA[i] scaleB[j] C[i, j] as float,
// rounded once from double.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_SIMD_INTEGERPANELS_H
#define SHARDC_RUNTIME_KERNELS_HOST_SIMD_INTEGERPANELS_H

#include "runtime/kernels/Kernel.h"
#include "runtime/kernels/host/simd/Loops.h"
#include "runtime/kernels/host/simd/PackedMatrix.h"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace shardc::runtime::host {

/// Rows of B, and bytes of a row of A, come in multiples of this.
inline constexpr int64_t kIntegerDepth = 64;

inline int64_t integerDepth(int64_t k) {
  return (k + kIntegerDepth - 1) / kIntegerDepth * kIntegerDepth;
}
/// Of a panel: its lines, and sums of 16 columns.
inline int64_t integerPanelBytes(int64_t k) {
  return (integerDepth(k) + 4) * kPanelColumns;
}

/// Of a matrix [k, n] of any strides; 0 where it is not of bytes.
int64_t integerMatrixBytes(const TensorView &matrix);
/// `to` is aligned to 64 bytes.
void packIntegers(const TensorView &matrix, std::byte *to,
                  SourcePages pages = SourcePages::Stay);

/// C [m, n] of rows that lie anywhere.
struct IntegerProduct {
  int64_t m = 0, n = 0, k = 0;
  const int8_t *a = nullptr; ///< rows of integerDepth(k), filled up with zeros
  const int32_t *sumsA = nullptr, *zerosA = nullptr; ///< of rows
  const std::byte *b = nullptr; ///< as packIntegers leaves it
  /// Of columns, up to the end of the last panel.
  const int32_t *zerosB = nullptr;
  int32_t *const *rows = nullptr; ///< of C, or its floats
  /// As zeros are; null: C is of integers.
  const float *scalesA = nullptr, *scalesB = nullptr;
};

/// Makes numbers of integers where they lie.
inline void scaleIntegers(const IntegerProduct &product, int64_t row,
                          int64_t panel, int64_t columns) {
  const double scaleA = product.scalesA[row];
  const float *scalesB = product.scalesB + panel * kPanelColumns;
  int32_t *c = product.rows[row] + panel * kPanelColumns;
  for (int64_t j = 0; j < columns; ++j)
    c[j] = std::bit_cast<int32_t>(float(c[j] * (scaleA * scalesB[j])));
}

/// Subtracts what zero points add to dots: `columns` of a row.
inline void finishIntegers(const IntegerProduct &product, const int32_t *dots,
                           int64_t row, int64_t panel, int64_t columns) {
  const auto sumA = uint32_t(product.sumsA[row]);
  const auto zeroA = uint32_t(product.zerosA[row]);
  const auto *sumsB = reinterpret_cast<const uint32_t *>(
      product.b + (panel + 1) * integerPanelBytes(product.k) -
      4 * kPanelColumns);
  const int32_t *zerosB = product.zerosB + panel * kPanelColumns;
  int32_t *c = product.rows[row] + panel * kPanelColumns;
  for (int64_t j = 0; j < columns; ++j) {
    const auto zeroB = uint32_t(zerosB[j]);
    c[j] = int32_t(uint32_t(dots[j]) - zeroB * sumA -
                   zeroA * (sumsB[j] - uint32_t(product.k) * zeroB));
  }
  if (product.scalesA)
    scaleIntegers(product, row, panel, columns);
}

/// In the tiles of AMX, where hasIntegerTiles(): panels [begin, end).
bool hasIntegerTiles();
void multiplyIntegerTiles(const IntegerProduct &product, Span panels);

/// On the threads of the rank, in tiles where there are some and rows fill them.
void multiplyIntegers(const IntegerProduct &product);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_SIMD_INTEGERPANELS_H
