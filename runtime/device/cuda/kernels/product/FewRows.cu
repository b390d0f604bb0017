//===- FewRows.cu - A few rows times a matrix of weights ------------------===//
#include "runtime/device/cuda/kernels/product/FewRows.h"

#include "runtime/device/cuda/kernels/product/FewRowsDevice.h"

namespace shardc::runtime::cuda {
namespace {

constexpr int64_t kBlockColumns = kFewColumns * kWarp;

/// Where sums go: to C, or to a split's place in scratch.
template <typename T> struct FewResult {
  T *c;
  int64_t cStride;
  float *partials; ///< null: there is one split
  int64_t columns;

  __device__ void store(const FewRows &rows, int r, int64_t column,
                        float sum) const {
    if (partials)
      partials[(blockIdx.y * rows.count + r) * columns + column] = sum;
    else
      c[rows.cAt[r] + column * cStride] = T(sum);
  }
};

__device__ FewPart partOfBlock(int64_t column, int64_t pieces) {
  return {0,
          0,
          0,
          column,
          pieces * blockIdx.y / gridDim.y,
          pieces * (blockIdx.y + 1) / gridDim.y};
}

template <typename T, typename Format, int kRows>
__global__ void columnsKernel(const __grid_constant__ FewMatrix m,
                              const __grid_constant__ FewRows rows,
                              FewResult<T> result) {
  const int64_t column =
      (int64_t(blockIdx.x) * kFewWarps + warpOfBlock()) * kFewColumns;
  if (column >= m.columns)
    return;
  float sums[kRows][kFewColumns];
  sumColumns<T, Format>(m, rows, partOfBlock(column, m.k / Format::kElements),
                        sums);
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int c = 0; c < kFewColumns; ++c)
      if (laneOfWarp() == 0 && r < rows.count && column + c < m.columns)
        result.store(rows, r, column + c, sums[r][c]);
}

template <typename T, typename Format, int kRows>
__global__ void rowsKernel(const __grid_constant__ FewMatrix m,
                           const __grid_constant__ FewRows rows,
                           FewResult<T> result) {
  sumRows<T, Format, kRows>(
      m, rows, partOfBlock(blockIdx.x * kBlockColumns, m.k / kPackedRun),
      [&](int r, int64_t column, float sum) {
        result.store(rows, r, column, sum);
      });
}

/// Adds up the splits.
template <typename T>
__global__ void finishKernel(const __grid_constant__ FewRows rows,
                             FewResult<T> result, int splits) {
  const int64_t count = rows.count * result.columns;
  for (int64_t i = firstElement(); i < count; i += allThreads()) {
    float sum = 0;
    for (int s = 0; s < splits; ++s)
      sum += result.partials[s * count + i];
    const int64_t r = i / result.columns;
    result.c[rows.cAt[r] + (i - r * result.columns) * result.cStride] = T(sum);
  }
}

template <typename T, typename Format, int kRows>
Status launchFewRows(const FewProduct &p, const FewResult<T> &result,
                     cudaStream_t stream) {
  const auto splits = static_cast<unsigned>(p.splits);
  const auto blocks = [&](int64_t columns) {
    return static_cast<unsigned>((p.matrix.columns + columns - 1) / columns);
  };
  if (p.matrix.isByColumns)
    return launch(
        columnsKernel<T, Format, kRows>,
        {dim3(blocks(kFewWarps * kFewColumns), splits), kThreads, 0, true},
        stream, p.matrix, p.rows, result);
  return launch(rowsKernel<T, Format, kRows>,
                {dim3(blocks(kBlockColumns), splits), kThreads,
                 kFewWarps * kRows * kBlockColumns * sizeof(float), true},
                stream, p.matrix, p.rows, result);
}

template <typename T, typename Format>
Status launchFormat(const FewProduct &p, const FewResult<T> &result,
                    cudaStream_t stream) {
  return p.rows.count == 1
             ? launchFewRows<T, Format, 1>(p, result, stream)
             : launchFewRows<T, Format, kMostFewRows>(p, result, stream);
}

template <typename T>
Status launchAll(const FewProduct &p, std::byte *scratch, cudaStream_t stream) {
  FewResult<T> result = {reinterpret_cast<T *>(p.c), p.cStride,
                         p.splits > 1 ? reinterpret_cast<float *>(scratch)
                                      : nullptr,
                         p.matrix.columns};
  constexpr auto kE4M3 = artifact::ElementType_Float8E4M3FN;
  constexpr auto kE5M2 = artifact::ElementType_Float8E5M2;
  const auto element = p.matrix.element;
  SHARDC_RETURN_IF_ERROR(
      (artifact::elementBits(element) == 4
           ? launchFormat<T, HalvesOfBytes>(p, result, stream)
       : element == kE4M3
           ? launchFormat<T, Float8Bytes<kE4M3>>(p, result, stream)
       : element == kE5M2
           ? launchFormat<T, Float8Bytes<kE5M2>>(p, result, stream)
           : launchFormat<T, Bytes>(p, result, stream)));
  return p.splits == 1
             ? Status::ok()
             : launch(finishKernel<T>,
                      {dim3(blocksFor(p.rows.count * p.matrix.columns))},
                      stream, p.rows, result, p.splits);
}

/// Enough of them for all of a GPU, if each still has enough to sum.
int splitsFor(const FewMatrix &m) {
  constexpr int64_t kWarpsWanted = 2048, kMostSplits = 64;
  const int64_t columns = (m.columns + kFewColumns - 1) / kFewColumns;
  const int64_t bits = artifact::elementBits(m.element);
  const int64_t warps =
      m.isByColumns ? columns : (columns + kWarp - 1) / kWarp * kFewWarps;
  // At least two turns of all lanes, or of all warps.
  const int64_t most = m.isByColumns ? m.k * bits / 128 / (2 * kWarp)
                                     : m.k / kPackedRun / (2 * kFewWarps);
  return static_cast<int>(std::clamp<int64_t>(
      std::min(kWarpsWanted / warps, most), 1, kMostSplits));
}

bool isHalfOrFloat(artifact::ElementType element) {
  return element == artifact::ElementType_Float32 ||
         element == artifact::ElementType_Float16 ||
         element == artifact::ElementType_BFloat16;
}

bool isAligned(const std::byte *data, int64_t bits) {
  return reinterpret_cast<uintptr_t>(data) %
             static_cast<uintptr_t>(std::min<int64_t>(bits / 8, 16)) ==
         0;
}

} // namespace

bool readFewMatrix(const host::QuantizedViews &views, bool isQuantized,
                   const QuantizedBlocks &blocks, FewMatrix &m) {
  const TensorView &data = views.data;
  const int row = data.rank - 2, column = data.rank - 1;
  const int64_t bits = artifact::elementBits(data.element);
  m.data = data.data;
  m.element = data.element;
  m.k = data.dims[row];
  m.columns = data.dims[column];
  if (data.skipped != 0 || m.k == 0 || m.columns == 0)
    return false;
  m.isByColumns = data.strides[row] == 1;
  m.line = data.strides[m.isByColumns ? column : row];
  const int64_t unit = m.alignment();
  const bool isWhole = m.isByColumns ? m.k % unit == 0
                                     : m.columns % kFewColumns == 0 &&
                                           m.k % kPackedRun == 0 &&
                                           data.strides[column] == 1;
  if (!isWhole || m.line % unit != 0 || !isAligned(data.data, unit * bits))
    return false;
  if (!isQuantized)
    return isHalfOrFloat(data.element);
  // Of eight bits of float those that all GPUs know.
  if (host::isFloat8(data.element) &&
      (views.hasZeroPoint ||
       (data.element != artifact::ElementType_Float8E4M3FN &&
        data.element != artifact::ElementType_Float8E5M2)))
    return false;
  const bool hasPlace = views.hasBlocks || m.k == 1; // or one for all of k
  if (bits < 4 || bits > 8 || !isHalfOrFloat(views.scale.element) ||
      (!hasPlace &&
       (views.scale.strides[row] != 0 || views.zeroPoint.strides[row] != 0)) ||
      (views.hasBlocks && views.axis != row) ||
      (views.hasZeroPoint && views.zeroPoint.element != data.element) ||
      !blocks.keepsRuns(kPackedRun))
    return false;
  m.isSigned = data.element == artifact::ElementType_Int4 ||
               data.element == artifact::ElementType_Int8;
  m.scale = views.scale.data;
  m.scaleElement = views.scale.element;
  m.hasZeros = views.hasZeroPoint;
  m.zeros = Integers(views.zeroPoint);
  m.blocks = blocks;
  m.scaleColumn = views.scale.strides[column];
  m.zeroColumn = views.zeroPoint.strides[column];
  m.splitsLoads = m.isByColumns && !blocks.keepsRuns(unit);
  return true;
}

bool readFewRows(const TensorView &x, const host::QuantizedViews &weights,
                 const QuantizedBlocks &blocks, const TensorView &c,
                 FewProduct &product) {
  if (!listRows(x, c, product.rows) || !isHalfOrFloat(x.element) ||
      x.strides[x.rank - 1] != 1 || !isAligned(x.data, 128) ||
      !readFewMatrix(weights, true, blocks, product.matrix))
    return false;
  for (int r = 0; r < product.rows.count; ++r)
    if (product.rows.xAt[r] % kPackedRun != 0)
      return false;
  product.c = c.data;
  product.cStride = c.strides[c.rank - 1];
  product.splits = splitsFor(product.matrix);
  return true;
}

bool listRows(const TensorView &x, const TensorView &c, FewRows &rows) {
  const int64_t columns = c.dims[c.rank - 1];
  if (columns == 0 || c.numElements() / columns > kMostFewRows)
    return false;
  rows.x = x.data;
  rows.count = static_cast<int>(c.numElements() / columns);
  for (int r = 0; r < rows.count; ++r) {
    int64_t rest = r;
    for (int d = c.rank - 2; d >= 0; --d) {
      const int64_t at = rest % c.dims[d];
      rest /= c.dims[d];
      rows.xAt[r] += at * x.strides[d];
      rows.cAt[r] += at * c.strides[d];
    }
  }
  return rows.count > 0;
}

Status multiplyFewRows(const FewProduct &product, artifact::ElementType element,
                       std::byte *scratch, cudaStream_t stream) {
  return host::dispatch(host::TypeList<float, host::Float16, host::BFloat16>(),
                        element, "MatMulDequantized", [&](auto tag) {
                          return launchAll<typename decltype(tag)::Type>(
                              product, scratch, stream);
                        });
}

} // namespace shardc::runtime::cuda
