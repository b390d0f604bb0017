//===- Experts.h - Tokens through chosen experts, on a GPU ----------------===//
//
// A pair is a token and one of its choices: pair i is of token i / choices.
// What is between the kernels is kept by pair, so that its place does not
// depend on how pairs are sorted, and the bits of a sum neither.
//
// A step of decoding has few pairs: each is multiplied by the matrix of its
// expert as in FewRows.h, and of no other one anything is read. Of more pairs
// those of an expert come together, in tiles of rows. How many tiles there are
// only the GPU knows; the host knows a bound, since each expert has at most one
// tile that is not full, and launches that many: nobody waits.
//
//   5 pairs of experts 2 0 2 2 0, tiles of 2 rows: experts 0 and 2 have 1 and 2
//   tiles, the bound is 5 / 2 + min(experts, 5)
//
// The rows of the second product are rounded to the tokens' type, as a tensor
// between two products of that type would be, where they come in tiles: those
// of few pairs stay floats, as the host's do.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_EXPERTS_EXPERTS_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_EXPERTS_EXPERTS_H

#include "runtime/device/cuda/kernels/CallStream.h"
#include "runtime/device/cuda/kernels/product/FewRows.h"
#include "runtime/kernels/experts/ExpertActivation.h"
#include "runtime/kernels/experts/ExpertOperands.h"
#include "runtime/kernels/index/IndexReader.h"

namespace shardc::runtime::cuda {

/// More tokens have enough rows of an expert for tiles.
inline constexpr int64_t kMostFewTokens = 8;
/// Rows of a tile; large ones are for halves alone.
inline constexpr int kSmallTileRows = 64, kLargeTileRows = 128;

/// Which expert a pair has chosen.
struct ExpertChoices {
  ExpertChoices(const TensorView &indices, int64_t all, int64_t first,
                int64_t here)
      : indices(indices), strides{indices.strides[0], indices.strides[1]},
        pairs(indices.numElements()), choices(indices.dims[1]), all(all),
        first(first), here(here) {}

  host::IndexReader indices;
  int64_t strides[2]; ///< from token to token, from choice to choice
  int64_t pairs, choices;
  int64_t all, first,
      here; ///< experts; of them `here` are here from `first` on

  /// Negative: it is not here.
  __device__ int64_t expertOf(int64_t pair) const {
    const int64_t expert = indices.wrapped(offsetOf(pair), all) - first;
    return isInRange(pair) && expert < here ? expert : -1;
  }
  __device__ bool isInRange(int64_t pair) const {
    const int64_t index = indices[offsetOf(pair)];
    return index >= -all && index < all;
  }

private:
  __device__ int64_t offsetOf(int64_t pair) const {
    const int64_t token = pair / choices;
    return token * strides[0] + (pair - token * choices) * strides[1];
  }
};

/// What the GPU finds out about pairs.
struct ExpertOrder {
  int32_t *starts = nullptr; ///< of an expert in `pairs`, and behind the last
  int32_t *tiles = nullptr;  ///< likewise of its tiles
  int32_t *next = nullptr;   ///< where an expert's next pair goes
  int32_t *pairs = nullptr;  ///< by expert
  int tileRows = kSmallTileRows;
};

/// Large tiles read less for each product; experts that would leave most of one
/// empty get small ones.
inline int tileRowsOf(artifact::ElementType element, int64_t pairs,
                      int64_t experts) {
  return artifact::elementBits(element) == 16 &&
                 pairs > experts * kSmallTileRows
             ? kLargeTileRows
             : kSmallTileRows;
}

/// Weights [e, k, n] of any layout and type.
struct ExpertMatrix {
  const std::byte *numbers = nullptr; ///< null: they are integers
  Integers integers;
  /// Or eight bits of float, whose bytes `integers` has; zero points are
  /// numbers.
  bool isFloat8 = false;
  Float8Decoder decode = Float8Decoder(kFloat8E4M3FN);
  const std::byte *scale = nullptr;
  const std::byte *zeroNumbers = nullptr; ///< zero points that are numbers
  bool hasZeros = false;
  Integers zeros;
  QuantizedBlocks blocks;
  int axis = 0; ///< that blocks are along
  int64_t data[3] = {}, scaleAt[3] = {}, zeroAt[3] = {}; ///< strides
  int64_t k = 0, columns = 0;
};

/// Rows by pair, or by token where several pairs share one.
struct ExpertRows {
  const std::byte *data = nullptr;
  int64_t pairsOfRow = 1;
  int64_t strides[2] = {}; ///< from row to row, and along it
};

struct ExpertBias {
  const std::byte *data = nullptr; ///< null: there is none
  int64_t strides[2] = {};
};

/// Those that are here, by expert.
Status sortPairs(const ExpertChoices &choices, const ExpertOrder &order,
                 cudaStream_t stream);

/// sums[pair, n] = rows W[e] + bias[e], for pairs whose expert is here. Rows,
/// weights and bias are of type `element`; sums of what it is computed in.
Status multiplyTiles(const ExpertChoices &choices, const ExpertOrder &order,
                     const ExpertRows &rows, const ExpertMatrix &matrix,
                     const ExpertBias &bias, artifact::ElementType element,
                     std::byte *sums, cudaStream_t stream);

/// Halves or floats as floats, one row after the other.
Status toFloats(const TensorView &tokens, float *to, cudaStream_t stream);

/// As multiplyTiles for few pairs, with rows of floats that lie one after the
/// other.
Status multiplyPairs(const ExpertChoices &choices, const float *rows,
                     int64_t pairsOfRow, const FewMatrix &matrix,
                     const int64_t (&expertStrides)[3], const ExpertBias &bias,
                     artifact::ElementType biasElement, float *sums,
                     cudaStream_t stream);

/// Rows of what is between the products, by pair.
template <typename Acc, typename To>
Status activatePairs(const Acc *from, To *to,
                     const host::ExpertActivation<Acc> &activation,
                     int64_t pairs, int64_t wide, int64_t hidden,
                     cudaStream_t stream);

/// y[token] = sum of weight * sums[pair] over its pairs that are here, in
/// order. Reports a choice that is none.
Status combinePairs(const ExpertChoices &choices, const TensorView &weights,
                    const std::byte *sums, const TensorView &y,
                    const Fault &fault, cudaStream_t stream);

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_EXPERTS_EXPERTS_H
