//===- IntegerPack.cu - 8-bit integers as cuBLASLt multiplies them --------===//
//
// cuBLASLt takes signed bytes, both operands dense along what is summed, and
// knows no zero points. What it makes of the packed lines a and b is corrected:
//
//   sum of (a - p)(b - q)  =  a b - q sum(a) - p sum(b) + k p q
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/kernels/layout/Nest.h"
#include "runtime/device/cuda/kernels/product/IntegerProduct.h"

namespace shardc::runtime::cuda {
namespace {

constexpr int kTile = 64;    ///< lines, and elements of them, at a time
constexpr int kTilesOfK = 8; ///< that a block has

struct PackedTile {
  int8_t bytes[kTile][kTile + 4];
};

/// A block has 64 lines and up to 512 of k; `sums` are 0 before.
__global__ void packKernel(IntegerLines lines, const std::byte *from,
                           const std::byte *zeros, bool isSigned,
                           int64_t stride, bool isByLines,
                           const __grid_constant__ Nest<2> nest) {
  auto &tile = *reinterpret_cast<PackedTile *>(sharedMemory());
  const int64_t first = int64_t(blockIdx.x) * kTile;
  const int64_t begin = int64_t(blockIdx.y) * kTilesOfK * kTile;
  const auto flip = static_cast<uint8_t>(isSigned ? 0 : 128);
  const auto read = [&](const std::byte *data, int64_t at) {
    return static_cast<int8_t>(static_cast<uint8_t>(data[at]) ^ flip);
  };
  int32_t sum = 0;
  for (int64_t k0 = begin; k0 < begin + kTilesOfK * kTile && k0 < lines.paddedK;
       k0 += kTile) {
    __syncthreads(); // what was there before has been read
    for (int e = static_cast<int>(threadIdx.x); e < kTile * kTile;
         e += kThreads) {
      // Neighbouring threads read along what is dense.
      const int l = isByLines ? e % kTile : e / kTile;
      const int k = isByLines ? e / kTile : e % kTile;
      int8_t byte = 0;
      if (first + l < lines.count && k0 + k < lines.k) {
        int64_t at[2];
        nest.offsets(first + l, at);
        byte = read(from, at[0] + (k0 + k) * stride);
      }
      tile.bytes[l][k] = byte;
    }
    __syncthreads();
    for (int e = static_cast<int>(threadIdx.x); e < kTile * kTile;
         e += kThreads) {
      const int l = e / kTile, k = e % kTile;
      if (first + l < lines.paddedCount && k0 + k < lines.paddedK)
        reinterpret_cast<int8_t *>(
            lines.packed)[(first + l) * lines.paddedK + k0 + k] =
            tile.bytes[l][k];
    }
    if (threadIdx.x < kTile)
      for (int k = 0; k < kTile; ++k)
        sum += tile.bytes[threadIdx.x][k];
  }
  const int64_t line = first + threadIdx.x;
  if (threadIdx.x >= kTile || line >= lines.paddedCount)
    return;
  atomicAdd(&lines.sums[line], sum);
  if (blockIdx.y > 0)
    return;
  int64_t at[2] = {0, 0};
  if (line < lines.count)
    nest.offsets(line, at);
  lines.zeros[line] = zeros && line < lines.count ? read(zeros, at[1])
                      : isSigned                  ? 0
                                                  : -128;
}

/// Sums wrap around.
__global__ void correctKernel(int32_t *c, const int32_t *product,
                              IntegerLines rows, IntegerLines columns,
                              const __grid_constant__ Nest<1> nest) {
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[1];
    nest.offsets(i, at);
    const int64_t row = i / columns.count, column = i - row * columns.count;
    const auto p = static_cast<uint32_t>(rows.zeros[row]);
    const auto q = static_cast<uint32_t>(columns.zeros[column]);
    const auto k = static_cast<uint32_t>(rows.k);
    const auto ab =
        static_cast<uint32_t>(product[row * columns.paddedCount + column]);
    c[at[0]] = static_cast<int32_t>(
        ab - q * static_cast<uint32_t>(rows.sums[row]) -
        p * static_cast<uint32_t>(columns.sums[column]) + k * p * q);
  }
}

} // namespace

Status packIntegers(const IntegerProduct &p, IntegerSide side,
                    const IntegerLines &lines, cudaStream_t stream) {
  const bool isA = side == IntegerSide::RowsOfA;
  const TensorView &view = isA ? p.a : p.b, &zero = isA ? p.zeroA : p.zeroB;
  const bool hasZeros = isA ? p.hasZeroA : p.hasZeroB;
  const int summed = isA ? p.column() : p.row();
  Nest<2> nest;
  for (int d = 0; d < view.rank; ++d)
    if (isA ? d != summed : d == p.column())
      nest.append(view.dims[d],
                  {view.strides[d], hasZeros ? zero.strides[d] : 0});
  SHARDC_RETURN_IF_ERROR(cudaStatus(
      cudaMemsetAsync(lines.sums, 0,
                      static_cast<size_t>(lines.paddedCount) * sizeof(int32_t),
                      stream),
      "cudaMemsetAsync"));
  const auto tiles = [](int64_t size, int64_t tile) {
    return static_cast<unsigned>((size + tile - 1) / tile);
  };
  return launch(packKernel,
                {dim3(tiles(lines.paddedCount, kTile),
                      tiles(lines.paddedK, kTile * kTilesOfK)),
                 kThreads, sizeof(PackedTile), true},
                stream, lines, view.data, hasZeros ? zero.data : nullptr,
                view.element == artifact::ElementType_Int8,
                view.strides[summed], view.strides[summed] != 1, nest);
}

Status correctIntegers(const IntegerProduct &p, const int32_t *product,
                       const IntegerLines &rows, const IntegerLines &columns,
                       cudaStream_t stream) {
  const auto nest = nestOf(p.c);
  return launch(correctKernel, nest.grid(), stream, p.c.as<int32_t>(), product,
                rows, columns, nest);
}

} // namespace shardc::runtime::cuda
