//===- ProductPlan.h - MatMul over views, as cuBLASLt takes it ------------===//
//
// cuBLASLt knows column-major matrices with a leading dimension, and batches of
// them at one stride. Our product C = A B of row-major views is its C' = B' A',
// each the transpose of what it is called here:
//
//   A [12, 128, 64] strides {8192, 64, 1}
//   B [12, 64, 128] strides {8192, 1, 64}, a transposed key
//   12 batches; leading dimensions 64, 64 and 128; B' is transposed
//
// Batch dims that B does not have become rows of A. Batch dims that do not
// merge into one stride are a loop outside. A matrix that is dense along
// neither rows nor columns has to be packed first.
//
// No CUDA in here: it is tested without.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_PRODUCTS_PRODUCTPLAN_H
#define SHARDC_RUNTIME_DEVICE_CUDA_PRODUCTS_PRODUCTPLAN_H

#include "runtime/kernels/Kernel.h"

namespace shardc::runtime {

/// One operand, row-major; strides and offsets in elements.
struct ProductOperand {
  int64_t rows = 0, columns = 0;
  int64_t leading = 1;       ///< from row to row, or from column to column
  bool isTransposed = false; ///< dense along columns instead of rows
  bool isPacked = false;     ///< has to be packed first, and planned again
  int64_t batchStride = 0;   ///< 0: the same matrix for all
};

struct ProductPlan {
  ProductOperand a, b, c;
  int64_t batches = 1;
  /// A loop outside: products that begin so many elements further on.
  struct Loop {
    int64_t size = 1, a = 0, b = 0, c = 0;
  };
  int numLoops = 0;
  Loop loops[kMaxRank];

  /// Calls `visit(offsetA, offsetB, offsetC)` for each product of the loops.
  template <typename Visit> Status forEachProduct(Visit visit) const {
    int64_t count = 1;
    for (int l = 0; l < numLoops; ++l)
      count *= loops[l].size;
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, a = 0, b = 0, c = 0;
      for (int l = numLoops - 1; l >= 0; --l) {
        const int64_t at = rest % loops[l].size;
        rest /= loops[l].size;
        a += at * loops[l].a;
        b += at * loops[l].b;
        c += at * loops[l].c;
      }
      SHARDC_RETURN_IF_ERROR(visit(a, b, c));
    }
    return Status::ok();
  }
};

/// Precondition: equal ranks of at least 2, and dims that fit; batch dims of A
/// and B are broadcast by stride 0 already.
ProductPlan planProduct(const TensorView &a, const TensorView &b,
                        const TensorView &c);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_PRODUCTS_PRODUCTPLAN_H
