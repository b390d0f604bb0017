//===- IntegerRows.cu - A few rows of 8-bit integers times a matrix -------===//
//
// Where B lies row by row, a lane has 4 columns and a warp 8 rows of them at a
// time, as in FewRowsDevice.h; k is split, too, and splits add to C, which for
// integers gives the same bits in any order. Else a warp has an element of C.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/kernels/Warp.h"
#include "runtime/device/cuda/kernels/layout/StridedKernels.h"
#include "runtime/device/cuda/kernels/product/FewRows.h"
#include "runtime/device/cuda/kernels/product/IntegerProduct.h"
#include "runtime/device/cuda/kernels/quant/PackedIntegers.h"

namespace shardc::runtime::cuda {
namespace {

constexpr int kWarps = kThreads / kWarp;
constexpr int kColumnsOfLane = 4, kColumns = kColumnsOfLane * kWarp;

struct IntegerRows {
  FewRows rows;                       ///< their x is A
  int64_t zeroAt[kMostFewRows] = {};  ///< of A's zero points
  const std::byte *b, *zeroA, *zeroB; ///< zero points may be null
  bool isSignedA, isSignedB;
  int32_t *c;
  int64_t k, columns;
  int64_t strideA, stridesB[2], strideZeroB, strideC;
};

__device__ int byteAt(const std::byte *data, int64_t at, bool isSigned) {
  const auto byte = static_cast<uint8_t>(data[at]);
  return isSigned ? static_cast<int8_t>(byte) : byte;
}

__device__ int zeroOfRow(const IntegerRows &p, int r) {
  return p.zeroA ? byteAt(p.zeroA, p.zeroAt[r], p.isSignedA) : 0;
}
__device__ int zeroOfColumn(const IntegerRows &p, int64_t column) {
  return p.zeroB ? byteAt(p.zeroB, column * p.strideZeroB, p.isSignedB) : 0;
}

__global__ void elementKernel(const __grid_constant__ IntegerRows p) {
  const int64_t count = p.rows.count * p.columns;
  for (int64_t i = int64_t(blockIdx.x) * kWarps + warpOfBlock(); i < count;
       i += int64_t(gridDim.x) * kWarps) {
    const int r = static_cast<int>(i / p.columns);
    const int64_t j = i - r * p.columns;
    const int zeroA = zeroOfRow(p, r), zeroB = zeroOfColumn(p, j);
    uint32_t sum = 0; // wraps around
    for (int64_t l = laneOfWarp(); l < p.k; l += kWarp)
      sum += static_cast<uint32_t>(
          (byteAt(p.rows.x, p.rows.xAt[r] + l * p.strideA, p.isSignedA) -
           zeroA) *
          (byteAt(p.b, l * p.stridesB[0] + j * p.stridesB[1], p.isSignedB) -
           zeroB));
    sum = sumOfWarp(sum);
    if (laneOfWarp() == 0)
      p.c[p.rows.cAt[r] + j * p.strideC] = static_cast<int32_t>(sum);
  }
}

/// 4 columns of each lane, of what this warp has of k.
__device__ void sumWarp(const IntegerRows &p, int64_t column,
                        uint32_t (&sums)[kMostFewRows][kColumnsOfLane]) {
  const int64_t pieces = p.k / kPackedRun;
  const int64_t end = pieces * (blockIdx.y + 1) / gridDim.y;
  int zeroB[kColumnsOfLane];
#pragma unroll
  for (int c = 0; c < kColumnsOfLane; ++c)
    zeroB[c] = zeroOfColumn(p, column + c);
  for (int64_t i = pieces * blockIdx.y / gridDim.y + warpOfBlock(); i < end;
       i += kWarps) {
    const int64_t k = i * kPackedRun;
    uint32_t words[kPackedRun];
#pragma unroll
    for (int j = 0; j < kPackedRun; ++j)
      words[j] = *reinterpret_cast<const uint32_t *>(
          p.b + (k + j) * p.stridesB[0] + column);
    int weights[kPackedRun][kColumnsOfLane];
#pragma unroll
    for (int j = 0; j < kPackedRun; ++j)
#pragma unroll
      for (int c = 0; c < kColumnsOfLane; ++c) {
        const int bits = static_cast<int>(words[j] >> (8 * c)) & 255;
        weights[j][c] = (p.isSignedB ? (bits ^ 128) - 128 : bits) - zeroB[c];
      }
#pragma unroll
    for (int r = 0; r < kMostFewRows; ++r) {
      if (r >= p.rows.count)
        break;
      int x[kPackedRun];
      unpackBytes(p.rows.x + p.rows.xAt[r] + k, p.isSignedA, x);
      const int zeroA = zeroOfRow(p, r);
#pragma unroll
      for (int j = 0; j < kPackedRun; ++j)
#pragma unroll
        for (int c = 0; c < kColumnsOfLane; ++c)
          sums[r][c] += static_cast<uint32_t>((x[j] - zeroA) * weights[j][c]);
    }
  }
}

__global__ void rowsKernel(const __grid_constant__ IntegerRows p) {
  const int64_t first = int64_t(blockIdx.x) * kColumns;
  const int64_t column = first + laneOfWarp() * kColumnsOfLane;
  uint32_t sums[kMostFewRows][kColumnsOfLane] = {};
  if (column < p.columns) // all four or none
    sumWarp(p, column, sums);
  auto *shared = reinterpret_cast<uint32_t *>(sharedMemory());
#pragma unroll
  for (int r = 0; r < kMostFewRows; ++r)
#pragma unroll
    for (int c = 0; c < kColumnsOfLane; ++c)
      shared[(warpOfBlock() * kMostFewRows + r) * kColumns +
             laneOfWarp() * kColumnsOfLane + c] = sums[r][c];
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < p.rows.count * kColumns;
       e += kThreads) {
    uint32_t sum = 0;
    for (int w = 0; w < kWarps; ++w)
      sum += shared[w * kMostFewRows * kColumns + e];
    const int64_t at = first + e % kColumns;
    if (at < p.columns)
      atomicAdd(reinterpret_cast<uint32_t *>(p.c + p.rows.cAt[e / kColumns] +
                                             at * p.strideC),
                sum);
  }
}

bool isSigned(const TensorView &view) {
  return view.element == artifact::ElementType_Int8;
}

bool hasLoads(const IntegerRows &p) {
  bool whole = p.stridesB[1] == 1 && p.columns % kColumnsOfLane == 0 &&
               p.k % kPackedRun == 0 && p.stridesB[0] % kColumnsOfLane == 0 &&
               p.strideA == 1 && p.k > 0 &&
               reinterpret_cast<uintptr_t>(p.b) % kColumnsOfLane == 0 &&
               reinterpret_cast<uintptr_t>(p.rows.x) % kPackedRun == 0;
  for (int r = 0; r < p.rows.count; ++r)
    whole &= p.rows.xAt[r] % kPackedRun == 0;
  return whole;
}

unsigned splitsFor(const IntegerRows &p, int64_t blocks) {
  constexpr int64_t kBlocksWanted = 256;
  return static_cast<unsigned>(std::clamp<int64_t>(
      std::min(kBlocksWanted / blocks, p.k / kPackedRun / (2 * kWarps)), 1,
      64));
}

} // namespace

Status multiplyFewIntegers(const IntegerProduct &p, cudaStream_t stream) {
  IntegerRows few;
  FewRows zeros;
  if (!listRows(p.a, p.c, few.rows))
    return Status::ok(); // there are none
  if (p.hasZeroA && listRows(p.zeroA, p.c, zeros))
    std::copy_n(zeros.xAt, kMostFewRows, few.zeroAt);
  const int row = p.row(), column = p.column();
  few.b = p.b.data;
  few.zeroA = p.hasZeroA ? p.zeroA.data : nullptr;
  few.zeroB = p.hasZeroB ? p.zeroB.data : nullptr;
  few.isSignedA = isSigned(p.a);
  few.isSignedB = isSigned(p.b);
  few.c = p.c.as<int32_t>();
  few.k = p.b.dims[row];
  few.columns = p.c.dims[column];
  few.strideA = p.a.strides[column];
  few.stridesB[0] = p.b.strides[row];
  few.stridesB[1] = p.b.strides[column];
  few.strideZeroB = p.zeroB.strides[column];
  few.strideC = p.c.strides[column];
  if (!hasLoads(few))
    return launch(elementKernel,
                  {dim3(blocksFor(few.rows.count * few.columns * kWarp)),
                   kThreads, 0, true},
                  stream, few);
  SHARDC_RETURN_IF_ERROR(clearStrided(p.c, stream));
  const int64_t blocks = (few.columns + kColumns - 1) / kColumns;
  return launch(rowsKernel,
                {dim3(static_cast<unsigned>(blocks), splitsFor(few, blocks)),
                 kThreads, kWarps * kMostFewRows * kColumns * sizeof(uint32_t),
                 true},
                stream, few);
}

} // namespace shardc::runtime::cuda
