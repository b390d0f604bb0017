//===- MatrixProduct.h - Products of strided matrices ---------------------===//
//
// float goes to oneDNN's sgemm, which wants unit stride along rows or columns;
// a window with neither (or of another element type: halves are computed in
// float, integers modulo 2^64) is packed into scratch first.
//
// Example, K^T of attention: K [8, 16] with strides {96, 1} seen as rows 16,
// columns 8, rowStride 1, columnStride 96: no packing, a transposed operand.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_PRODUCT_MATRIXPRODUCT_H
#define SHARDC_RUNTIME_KERNELS_HOST_PRODUCT_MATRIXPRODUCT_H

#include "runtime/base/Status.h"
#include "runtime/kernels/Kernel.h"
#include "runtime/kernels/StorageTypes.h"
#include "runtime/kernels/host/simd/Loops.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace shardc::runtime::host {

/// What products of T are accumulated in.
template <typename T>
using Accumulator = std::conditional_t<std::is_floating_point_v<Compute<T>>,
                                       Compute<T>, uint64_t>;

/// Where a matrix lies relative to its first element; strides in elements.
struct MatrixLayout {
  int64_t rows = 0, columns = 0;
  int64_t rowStride = 0, columnStride = 0;

  MatrixLayout transposed() const {
    return {columns, rows, columnStride, rowStride};
  }
  bool hasDenseRows() const {
    return (columnStride == 1 || columns <= 1) &&
           (rowStride >= columns || rows <= 1);
  }
  bool isDense() const { return hasDenseRows() || transposed().hasDenseRows(); }
  int64_t size() const { return rows * columns; }
};

/// Operand of `multiply`: row i starts at data + i * leading, or column i
/// where transposed.
template <typename Acc> struct Matrix {
  const Acc *data = nullptr;
  int64_t leading = 1;
  bool transposed = false;
};

template <typename T> bool needsPacking(const MatrixLayout &layout) {
  return !std::is_same_v<T, Accumulator<T>> || !layout.isDense();
}

/// Elements of Accumulator<T> that asMatrix needs.
template <typename T> int64_t packedSize(const MatrixLayout &layout) {
  return needsPacking<T>(layout) ? layout.size() : 0;
}

/// Copies the matrix to `to`, row after row.
template <typename T, typename Acc>
void packRows(const MatrixLayout &layout, const T *from, Acc *to) {
  for (int64_t r = 0; r < layout.rows; ++r) {
    const T *row = from + r * layout.rowStride;
    Acc *target = to + r * layout.columns;
    if constexpr (isHalf<T> && std::is_same_v<Acc, float>)
      if (layout.columnStride == 1) {
        widenRow(row, layout.columns, target);
        continue;
      }
    if (layout.columnStride == 1)
      for (int64_t c = 0; c < layout.columns; ++c)
        target[c] = Acc(Compute<T>(row[c]));
    else
      for (int64_t c = 0; c < layout.columns; ++c)
        target[c] = Acc(Compute<T>(row[c * layout.columnStride]));
  }
}

/// The operand in place if it can be, else packed into `packed`.
template <typename T>
Matrix<Accumulator<T>> asMatrix(const MatrixLayout &layout, const T *data,
                                Accumulator<T> *packed) {
  if constexpr (std::is_same_v<T, Accumulator<T>>) {
    if (layout.hasDenseRows())
      return {data,
              std::max<int64_t>(
                  layout.rows > 1 ? layout.rowStride : layout.columns, 1),
              false};
    if (layout.isDense())
      return {data,
              std::max<int64_t>(
                  layout.columns > 1 ? layout.columnStride : layout.rows, 1),
              true};
  }
  if (layout.columnStride != 1 && layout.rowStride == 1) { // read in order
    packRows(layout.transposed(), data, packed);
    return {packed, std::max<int64_t>(layout.rows, 1), true};
  }
  packRows(layout, data, packed);
  return {packed, std::max<int64_t>(layout.columns, 1), false};
}

/// In which order an element of C adds up. Fixed: that of PackedMatrix.h, which
/// other rows and columns, and the number of threads, do not change.
enum class SumOrder : uint8_t { Fastest, Fixed };

/// The order that a call asks for: its attribute `in_order`.
inline SumOrder sumOrderOf(const KernelCall &call) {
  return call.intOr("in_order", 0) != 0 ? SumOrder::Fixed : SumOrder::Fastest;
}

/// C = alpha A B + beta C for C of m dense rows of n; k may be 0. What C holds
/// is not read where beta is 0. double and uint64_t have one order.
Status multiply(int64_t m, int64_t n, int64_t k, float alpha,
                const Matrix<float> &a, const Matrix<float> &b, float beta,
                float *c, int64_t leading, SumOrder order = SumOrder::Fastest);
Status multiply(int64_t m, int64_t n, int64_t k, double alpha,
                const Matrix<double> &a, const Matrix<double> &b, double beta,
                double *c, int64_t leading, SumOrder order = SumOrder::Fastest);
Status multiply(int64_t m, int64_t n, int64_t k, uint64_t alpha,
                const Matrix<uint64_t> &a, const Matrix<uint64_t> &b,
                uint64_t beta, uint64_t *c, int64_t leading,
                SumOrder order = SumOrder::Fastest);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_PRODUCT_MATRIXPRODUCT_H
