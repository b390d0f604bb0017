//===- PlainRows.cu - A few rows times weights of any layout --------------===//
#include "runtime/device/cuda/kernels/Warp.h"
#include "runtime/device/cuda/kernels/product/FewRows.h"

namespace shardc::runtime::cuda {
namespace {

/// From element to element along k, and from column to column.
struct PlainStrides {
  int64_t k, x;
  int64_t data[2], scale[2], zero[2];
  int64_t columns, c;
};

template <typename T, typename Reader>
__global__ void plainKernel(T *c, const T *x, Reader data, const T *scale,
                            ZeroPoints<T, Reader> zeros,
                            const __grid_constant__ QuantizedBlocks blocks,
                            const __grid_constant__ FewRows rows,
                            PlainStrides at) {
  using C = host::Compute<T>;
  const int64_t count = rows.count * at.columns;
  for (int64_t i = blockIdx.x * (kThreads / kWarp) + warpOfBlock(); i < count;
       i += gridDim.x * (kThreads / kWarp)) {
    const int64_t r = i / at.columns, j = i - r * at.columns;
    C sum = 0;
    for (int64_t k = laneOfWarp(); k < at.k; k += kWarp) {
      const int64_t block = blocks.blockOf(k);
      const C number = zeros.subtract(data[k * at.data[0] + j * at.data[1]],
                                      k * at.zero[0] + j * at.zero[1] +
                                          block * blocks.zeroStride);
      const C factor =
          scale[k * at.scale[0] + j * at.scale[1] + block * blocks.scaleStride];
      sum += C(x[rows.xAt[r] + k * at.x]) * (number * factor);
    }
    sum = sumOfWarp(sum);
    if (laneOfWarp() == 0)
      c[rows.cAt[r] + j * at.c] = T(sum);
  }
}

} // namespace

Status multiplyPlainRows(const TensorView &x, const host::QuantizedViews &b,
                         const QuantizedBlocks &blocks, const TensorView &c,
                         cudaStream_t stream) {
  FewRows rows;
  if (!listRows(x, c, rows))
    return Status::ok(); // there are none
  const int column = c.rank - 1, row = c.rank - 2;
  const int64_t alongBlocks = b.hasBlocks ? 0 : 1;
  const PlainStrides strides = {
      b.data.dims[row],
      x.strides[column],
      {b.data.strides[row], b.data.strides[column]},
      {b.scale.strides[row] * alongBlocks, b.scale.strides[column]},
      {b.zeroPoint.strides[row] * alongBlocks, b.zeroPoint.strides[column]},
      c.dims[column],
      c.strides[column]};
  return host::dispatch(
      host::FloatTypes(), c.element, "MatMulDequantized", [&](auto tag) {
        using T = typename decltype(tag)::Type;
        return withReader(b.data.element, [&](auto from) {
          using Reader = typename decltype(from)::Type;
          return launch(plainKernel<T, Reader>,
                        {dim3(blocksFor(rows.count * strides.columns * kWarp)),
                         kThreads, 0, true},
                        stream, c.as<T>(), x.as<T>(), Reader(b.data),
                        b.scale.as<T>(), ZeroPoints<T, Reader>(b), blocks, rows,
                        strides);
        });
      });
}

} // namespace shardc::runtime::cuda
