//===- ExpertRows.cu - Products of experts for few pairs ------------------===//
//
// A pair's row times the matrix of its expert, as FewRowsDevice.h does it.
//
//===----------------------------------------------------------------------===//
#include "runtime/backend/cuda/kernels/Experts.h"
#include "runtime/backend/cuda/kernels/FewRowsDevice.h"

namespace shardc::runtime::cuda {
namespace {

constexpr int64_t kBlockColumns = kFewColumns * kWarp;

struct PairProduct {
  ExpertChoices choices;
  FewMatrix matrix;
  int64_t expertStrides[3]; ///< of data, scale and zero point
  const float *rows;        ///< [tokens or pairs, k]
  int64_t pairsOfRow;
  ExpertBias bias;
  float *sums; ///< [pairs, n]
};

template <typename T>
__device__ void storePair(const PairProduct &p, int64_t pair, int64_t expert,
                          int64_t column, float sum) {
  if (p.bias.data)
    sum += float(reinterpret_cast<const T *>(
        p.bias.data)[expert * p.bias.strides[0] + column * p.bias.strides[1]]);
  p.sums[pair * p.matrix.columns + column] = sum;
}

/// T: of the bias.
template <typename T, typename Format>
__global__ void pairsKernel(const __grid_constant__ PairProduct p) {
  const int64_t pair = blockIdx.y;
  const int64_t expert = p.choices.expertOf(pair);
  if (expert < 0)
    return;
  FewRows row;
  row.x = reinterpret_cast<const std::byte *>(p.rows);
  row.count = 1;
  row.xAt[0] = pair / p.pairsOfRow * p.matrix.k;
  FewPart part = {expert * p.expertStrides[0],
                  expert * p.expertStrides[1],
                  expert * p.expertStrides[2],
                  blockIdx.x * kBlockColumns,
                  0,
                  p.matrix.k / kPackedRun};
  if (!p.matrix.isByColumns) {
    sumRows<float, Format, 1>(p.matrix, row, part,
                              [&](int, int64_t column, float sum) {
                                storePair<T>(p, pair, expert, column, sum);
                              });
    return;
  }
  part.column = (int64_t(blockIdx.x) * kFewWarps + warpOfBlock()) * kFewColumns;
  part.end = p.matrix.k / Format::kElements;
  if (part.column >= p.matrix.columns)
    return;
  float sums[1][kFewColumns];
  sumColumns<float, Format>(p.matrix, row, part, sums);
#pragma unroll
  for (int c = 0; c < kFewColumns; ++c)
    if (laneOfWarp() == 0 && part.column + c < p.matrix.columns)
      storePair<T>(p, pair, expert, part.column + c, sums[0][c]);
}

template <typename T>
Status launchPairs(const PairProduct &p, cudaStream_t stream) {
  const int64_t width =
      p.matrix.isByColumns ? kFewColumns * kFewWarps : kBlockColumns;
  const Grid grid = {
      dim3(static_cast<unsigned>((p.matrix.columns + width - 1) / width),
           static_cast<unsigned>(p.choices.pairs)),
      kThreads, kFewWarps * kBlockColumns * sizeof(float), true};
  constexpr auto kE4M3 = artifact::ElementType_Float8E4M3FN;
  constexpr auto kE5M2 = artifact::ElementType_Float8E5M2;
  if (p.matrix.element == kE4M3)
    return launch(pairsKernel<T, Float8Bytes<kE4M3>>, grid, stream, p);
  if (p.matrix.element == kE5M2)
    return launch(pairsKernel<T, Float8Bytes<kE5M2>>, grid, stream, p);
  switch (artifact::elementBits(p.matrix.element)) {
  case 4:
    return launch(pairsKernel<T, HalvesOfBytes>, grid, stream, p);
  case 8:
    return launch(pairsKernel<T, Bytes>, grid, stream, p);
  default:
    return launch(pairsKernel<T, Numbers<T>>, grid, stream, p);
  }
}

} // namespace

Status multiplyPairs(const ExpertChoices &choices, const float *rows,
                     int64_t pairsOfRow, const FewMatrix &matrix,
                     const int64_t (&expertStrides)[3], const ExpertBias &bias,
                     artifact::ElementType element, float *sums,
                     cudaStream_t stream) {
  const PairProduct p = {choices,
                         matrix,
                         {expertStrides[0], expertStrides[1], expertStrides[2]},
                         rows,
                         pairsOfRow,
                         bias,
                         sums};
  return host::dispatch(host::TypeList<float, host::Float16, host::BFloat16>(),
                        element, "MixtureOfExperts", [&](auto tag) {
                          return launchPairs<typename decltype(tag)::Type>(
                              p, stream);
                        });
}

} // namespace shardc::runtime::cuda
