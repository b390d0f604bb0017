//===- ExpertRows.cu - Products of experts for few pairs ------------------===//
//
// A pair's row times the matrix of its expert, as FewRowsDevice.h does it.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/kernels/experts/Experts.h"
#include "runtime/device/cuda/kernels/product/FewRowsDevice.h"

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
  artifact::ElementType biasElement;
  float *sums; ///< [pairs, n]
};

__device__ void storePair(const PairProduct &p, int64_t pair, int64_t expert,
                          int64_t column, float sum) {
  if (p.bias.data)
    sum += floatAt(p.bias.data, p.biasElement,
                   expert * p.bias.strides[0] + column * p.bias.strides[1]);
  p.sums[pair * p.matrix.columns + column] = sum;
}

template <typename Format>
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
                                storePair(p, pair, expert, column, sum);
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
      storePair(p, pair, expert, part.column + c, sums[0][c]);
}

Status launchPairs(const PairProduct &p, cudaStream_t stream) {
  const auto launchFormat = [&](auto format) {
    const int64_t width =
        p.matrix.isByColumns ? kFewColumns * kFewWarps : kBlockColumns;
    const Grid grid = {
        dim3(static_cast<unsigned>((p.matrix.columns + width - 1) / width),
             static_cast<unsigned>(p.choices.pairs)),
        kThreads, kFewWarps * kBlockColumns * sizeof(float), true};
    return launch(pairsKernel<decltype(format)>, grid, stream, p);
  };
  const auto element = p.matrix.element;
  if (element == artifact::ElementType_Float8E4M3FN)
    return launchFormat(Float8Bytes<artifact::ElementType_Float8E4M3FN>());
  if (element == artifact::ElementType_Float8E5M2)
    return launchFormat(Float8Bytes<artifact::ElementType_Float8E5M2>());
  if (artifact::elementBits(element) <= 8)
    return artifact::elementBits(element) == 4 ? launchFormat(HalvesOfBytes())
                                               : launchFormat(Bytes());
  return host::dispatch(host::TypeList<float, host::Float16, host::BFloat16>(),
                        element, "MixtureOfExperts", [&](auto tag) {
                          return launchFormat(
                              Numbers<typename decltype(tag)::Type>());
                        });
}

} // namespace

Status multiplyPairs(const ExpertChoices &choices, const float *rows,
                     int64_t pairsOfRow, const FewMatrix &matrix,
                     const int64_t (&expertStrides)[3], const ExpertBias &bias,
                     artifact::ElementType biasElement, float *sums,
                     cudaStream_t stream) {
  return launchPairs({choices,
                      matrix,
                      {expertStrides[0], expertStrides[1], expertStrides[2]},
                      rows,
                      pairsOfRow,
                      bias,
                      biasElement,
                      sums},
                     stream);
}

} // namespace shardc::runtime::cuda
