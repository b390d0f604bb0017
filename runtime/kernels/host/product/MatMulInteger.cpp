//===- MatMulInteger.cpp - Product of 8-bit integers ----------------------===//
//
// A [..., m, k] minus its zero points [..., m, 1], times B [..., k, n] minus
// its own [..., 1, n], summed in 32 bits. Differences fit 16 bits; those of B
// are packed a panel of columns at a time, which all rows of A use.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/StridedLoop.h"
#include "runtime/kernels/product/IntegerProduct.h"

#include <algorithm>

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "MatMulInteger";
constexpr int64_t kPanel = 64; ///< columns of B

using ByteTypes = TypeList<int8_t, uint8_t>;

/// The view without the dims of the matrix; those of the batch are left.
TensorView batchOf(const TensorView &view) {
  return dimsOf(view, 0, view.rank - 2);
}

/// One matrix with the zero point of each row or column; null: 0.
template <typename T> struct Operand {
  const T *data, *zero;
  int64_t rowStride, columnStride, zeroStride;
};

template <typename A, typename B>
void multiply(const Operand<A> &a, const Operand<B> &b, const TensorView &out,
              int32_t *c, int64_t k, int16_t *scratch) {
  const int64_t m = out.dims[out.rank - 2], n = out.dims[out.rank - 1];
  const int64_t rowStride = out.strides[out.rank - 2];
  const int64_t columnStride = out.strides[out.rank - 1];
  int16_t *panel = scratch, *row = scratch + k * kPanel;
  int32_t sums[kPanel];
  for (int64_t j0 = 0; j0 < n; j0 += kPanel) {
    const int64_t width = std::min(kPanel, n - j0);
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0; j < kPanel; ++j) {
        const int64_t column = j0 + std::min(j, width - 1);
        const int zero = b.zero ? b.zero[column * b.zeroStride] : 0;
        panel[l * kPanel + j] =
            int16_t(b.data[l * b.rowStride + column * b.columnStride] - zero);
      }
    for (int64_t i = 0; i < m; ++i) {
      const int zero = a.zero ? a.zero[i * a.zeroStride] : 0;
      for (int64_t l = 0; l < k; ++l)
        row[l] = int16_t(a.data[i * a.rowStride + l * a.columnStride] - zero);
      std::fill_n(sums, kPanel, 0);
      for (int64_t l = 0; l < k; ++l)
        for (int64_t j = 0; j < kPanel; ++j)
          sums[j] += int32_t(row[l]) * panel[l * kPanel + j];
      for (int64_t j = 0; j < width; ++j)
        c[i * rowStride + (j0 + j) * columnStride] = sums[j];
    }
  }
}

template <typename T>
Operand<T> operandAt(const KernelCall &call, int index, int64_t offset,
                     int64_t zeroOffset) {
  const TensorView &view = call.inputs[index];
  const bool hasZero = hasInput(call, 2 + index);
  Operand<T> operand = {view.as<T>() + offset, nullptr,
                        view.strides[view.rank - 2],
                        view.strides[view.rank - 1], 0};
  if (hasZero) {
    const TensorView &zero = call.inputs[2 + index];
    operand.zero = zero.as<T>() + zeroOffset;
    operand.zeroStride = zero.strides[zero.rank - 2 + index];
  }
  return operand;
}

template <typename A, typename B> void runTyped(const KernelCall &call) {
  const TensorView &c = call.outputs[0], &a = call.inputs[0];
  const TensorView &zeroA = hasInput(call, 2) ? call.inputs[2] : a;
  const TensorView &zeroB = hasInput(call, 3) ? call.inputs[3] : a;
  const auto batches = nestOf(batchOf(c), batchOf(a), batchOf(call.inputs[1]),
                              batchOf(zeroA), batchOf(zeroB));
  forEachIndex(batches, [&](const int64_t (&at)[5]) {
    multiply(operandAt<A>(call, 0, at[1], at[3]),
             operandAt<B>(call, 1, at[2], at[4]), c, c.as<int32_t>() + at[0],
             a.dims[a.rank - 1], reinterpret_cast<int16_t *>(call.scratch));
  });
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(checkMatMulInteger(call, kName));
  const auto of = [&](int input) { return call.inputs[input].element; };
  return dispatch(ByteTypes(), of(0), kName, [&](auto a) {
    return dispatch(ByteTypes(), of(1), kName, [&](auto b) {
      runTyped<typename decltype(a)::Type, typename decltype(b)::Type>(call);
    });
  });
}

int64_t scratchBytes(const KernelCall &call) {
  // run reports what that finds
  return checkMatMulInteger(call, kName).isOk()
             ? call.inputs[0].dims[call.inputs[0].rank - 1] * (kPanel + 1) * 2
             : 0;
}

const HostKernelRegistration registration(kName, {run, scratchBytes});

} // namespace
} // namespace shardc::runtime::host
