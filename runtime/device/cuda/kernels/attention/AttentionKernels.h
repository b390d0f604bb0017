//===- AttentionKernels.h - Attention in CUDA C++ -------------------------===//
//
// The rows of a KV head are its query heads' queries: of 8 query heads on 2 KV
// heads and 3 queries, KV head 1 has rows 0 to 11, row 7 being query 1 of head
// 4 + 2. A block takes a tile of rows, all keys (or a split of them) and up to
// 128 columns of the values. Halves go through tensor cores
// (AttentionCores.cu). Of floats, many rows go through tiles of keys in shared
// memory (AttentionTile.cu); few rows, as in a step of decoding, split keys
// over warps and blocks (AttentionFew.cu). What the splits have seen is put
// together by AttentionMerge.cu. The softmax is online, as in the host's
// AttentionRun.h.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ATTENTIONKERNELS_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ATTENTIONKERNELS_H

#include "runtime/kernels/Kernel.h"
#include "runtime/kernels/attention/AttentionRows.h"

#include <cuda_runtime_api.h>

namespace shardc::runtime::cuda {

/// A view of four dims, or of what stands for them.
struct AttentionView {
  std::byte *data = nullptr;
  int64_t strides[4] = {};
};

/// Values and stats of rows; those of split s lie `step` elements behind those
/// of split s - 1.
struct AttentionState {
  AttentionView values, stats;
  int64_t valueStep = 0, statStep = 0;
};

inline constexpr int kMostPieces = 32;

struct AttentionPieces {
  int count = 0;
  int64_t places[kMostPieces], sizes[kMostPieces];
};

/// Up to so many rows of a KV head are few.
inline constexpr int64_t kFewAttentionRows = 16;
/// Columns of the values that a block takes.
inline constexpr int64_t kAttentionColumns = 128;

enum class AttentionMask { None, Shown, Added };

struct AttentionProblem {
  AttentionView q, k, v, mask, y;
  const std::byte *sinks = nullptr;
  int64_t sinkStride = 0;
  AttentionState state; ///< what has been seen before, or is left
  int64_t batches = 0, heads = 0, kvHeads = 0;
  int64_t queries = 0, keys = 0, depth = 0, columns = 0;
  AttentionPieces queryPieces, keyPieces;
  double scale = 1, softcap = 0;
  int64_t causalOffset = 0, window = 0;
  bool isCausal = false;
  AttentionMask maskKind = AttentionMask::None;
  host::ZeroRows zeroRows = host::ZeroRows::Hidden;
  bool continues = false; ///< goes on from the state
  bool finishes = true;   ///< writes y, else the state
  int splits = 1;         ///< of the keys

  SHARDC_HOST_DEVICE int64_t rowsOfHead() const {
    return kvHeads == 0 ? 0 : heads / kvHeads * queries;
  }
  SHARDC_HOST_DEVICE int64_t tiles(int64_t rowsOfTile) const {
    return (rowsOfHead() + rowsOfTile - 1) / rowsOfTile;
  }
  /// Of columns; one even where there is no column.
  SHARDC_HOST_DEVICE int64_t chunks() const {
    return columns <= kAttentionColumns
               ? 1
               : (columns + kAttentionColumns - 1) / kAttentionColumns;
  }
};

// Of float, double and the halves; a problem that has rows.
Status attendTiles(const AttentionProblem &problem,
                   artifact::ElementType element, cudaStream_t stream);
Status attendFew(const AttentionProblem &problem, artifact::ElementType element,
                 cudaStream_t stream);

/// Whether tensor cores take heads of that size.
inline bool isForCores(const AttentionProblem &problem) {
  constexpr int64_t kDeepest = 256;
  return problem.depth > 0 && problem.depth <= kDeepest;
}
/// As attendTiles or attendFew, of halves.
template <typename T>
Status attendOnCores(const AttentionProblem &problem, cudaStream_t stream);

/// A bias that adds what the mask says; batches and heads that the mask does not
/// tell apart come once. Zeros up to where the next row begins, and in all of
/// the `rows` of a head that are no queries.
Status biasOfMask(const AttentionProblem &problem, const AttentionView &bias,
                  int64_t rows, artifact::ElementType element,
                  cudaStream_t stream);

/// Writes what rows have of which the mask hides all keys: see ZeroRows.
Status fillHiddenRows(const AttentionProblem &problem,
                      artifact::ElementType element, cudaStream_t stream);

/// Puts `parts` states together (and the problem's own, if it continues) and
/// finishes, or leaves the problem's state.
Status mergeAttention(const AttentionProblem &problem,
                      const AttentionState &parts, int count,
                      artifact::ElementType element, cudaStream_t stream);

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ATTENTIONKERNELS_H
