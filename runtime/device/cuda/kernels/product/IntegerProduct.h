//===- IntegerProduct.h - Products of 8-bit integers, on a GPU ------------===//
//
// A [..., m, k] minus its zero points [..., m, 1], times B [..., k, n] minus
// its own [..., 1, n], for one matrix B.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_PRODUCT_INTEGERPRODUCT_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_PRODUCT_INTEGERPRODUCT_H

#include "runtime/device/cuda/kernels/CallStream.h"

namespace shardc::runtime::cuda {

struct IntegerProduct {
  TensorView a, b, c, zeroA, zeroB;
  bool hasZeroA = false, hasZeroB = false; ///< else any view of the same rank

  int row() const { return c.rank - 2; }
  int column() const { return c.rank - 1; }
};

/// Up to 8 rows in all, multiplied as they lie.
Status multiplyFewIntegers(const IntegerProduct &p, cudaStream_t stream);

/// Rows of A, or columns of B, as cuBLASLt takes them: one after the other,
/// each of `paddedK` signed bytes, which are 128 less where they were unsigned.
struct IntegerLines {
  std::byte *packed = nullptr; ///< [padded number of lines, paddedK]
  int32_t *sums = nullptr;     ///< of each packed line
  int32_t *zeros = nullptr;    ///< zero point of each packed line
  int64_t count = 0, paddedCount = 0, k = 0, paddedK = 0;
};

enum class IntegerSide { RowsOfA, ColumnsOfB };

/// Lines that only pad are zeros.
Status packIntegers(const IntegerProduct &p, IntegerSide side,
                    const IntegerLines &lines, cudaStream_t stream);

/// C from the product of the packed lines, [rows, padded columns].
Status correctIntegers(const IntegerProduct &p, const int32_t *product,
                       const IntegerLines &rows, const IntegerLines &columns,
                       cudaStream_t stream);

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_PRODUCT_INTEGERPRODUCT_H
