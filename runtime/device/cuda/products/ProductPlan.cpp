#include "runtime/device/cuda/products/ProductPlan.h"

#include <algorithm>
#include <utility>

namespace shardc::runtime {
namespace {

using Loop = ProductPlan::Loop;

/// The batch dims, in `dims`; how many. Those of size 1 go; one that continues
/// the one before it joins it.
int batchDims(const TensorView &a, const TensorView &b, const TensorView &c,
              Loop (&dims)[kMaxRank]) {
  int count = 0;
  for (int d = 0; d + 2 < c.rank; ++d) {
    Loop dim{c.dims[d], a.strides[d], b.strides[d], c.strides[d]};
    if (dim.size == 1)
      continue;
    const Loop *before = count > 0 ? &dims[count - 1] : nullptr;
    if (before && before->a == dim.a * dim.size &&
        before->b == dim.b * dim.size && before->c == dim.c * dim.size) {
      dim.size *= before->size;
      --count;
    }
    dims[count++] = dim;
  }
  return count;
}

ProductOperand operandOf(int64_t rows, int64_t columns, int64_t rowStride,
                         int64_t columnStride, int64_t batchStride) {
  ProductOperand operand{rows, columns, 1, false, false, batchStride};
  // A single row or column has no stride that means anything.
  const bool rowsAreDense = columnStride == 1 || columns <= 1;
  const bool columnsAreDense = rowStride == 1 || rows <= 1;
  if (rowsAreDense && (rowStride >= columns || rows <= 1)) {
    operand.leading = std::max<int64_t>(rows > 1 ? rowStride : columns, 1);
  } else if (columnsAreDense && (columnStride >= rows || columns <= 1)) {
    operand.isTransposed = true;
    operand.leading = std::max<int64_t>(columns > 1 ? columnStride : rows, 1);
  } else {
    operand.isPacked = true;
  }
  return operand;
}

} // namespace

ProductPlan planProduct(const TensorView &a, const TensorView &b,
                        const TensorView &c) {
  const int row = c.rank - 2, column = c.rank - 1;
  ProductPlan plan;
  Loop(&dims)[kMaxRank] = plan.loops;
  int count = batchDims(a, b, c, dims);
  int64_t rows = c.dims[row], rowA = a.strides[row], rowC = c.strides[row];
  // A batch whose B is the same is more rows, where they follow each other.
  while (count > 0 && dims[count - 1].b == 0 && rows > 0) {
    const Loop &inner = dims[count - 1];
    if (rows == 1) {
      rowA = inner.a;
      rowC = inner.c;
    } else if (inner.a != rowA * rows || inner.c != rowC * rows) {
      break;
    }
    rows *= inner.size;
    --count;
  }
  Loop batch;
  // The largest is cuBLASLt's.
  if (count > 0) {
    Loop *largest =
        std::max_element(dims, dims + count, [](const Loop &x, const Loop &y) {
          return x.size < y.size;
        });
    batch = *largest;
    std::move(largest + 1, dims + count, largest);
    --count;
  }
  plan.numLoops = count;
  plan.batches = batch.size;
  plan.a = operandOf(rows, a.dims[column], rowA, a.strides[column], batch.a);
  plan.b = operandOf(b.dims[row], b.dims[column], b.strides[row],
                     b.strides[column], batch.b);
  plan.c = operandOf(rows, c.dims[column], rowC, c.strides[column], batch.c);
  return plan;
}

} // namespace shardc::runtime
