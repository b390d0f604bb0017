//===- PackedMatrix.h - Constant matrices in the order products read them -===//
//
// B [k, n] lies in panels of 16 columns, row after row of each, the last one
// filled up with zeros:
//
//   [5, 40]: 5 x (columns 0-15), 5 x (columns 16-31), 5 x (32-39 and 8 zeros)
//
// so that a product reads memory from its beginning to its end, once for as
// many rows of A as stay in the cache. Halves stay halves and are widened as
// they are read: where A has one row, the time is that of reading B.
//
// Every element of C is one sum over k in one order (blocks of kDepthBlock,
// each from 0 on), whatever the sizes, the threads and the width of the
// processor's vectors are: the bits of a row do not depend on the other rows.
// Only processors without fused multiply-add round differently.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_SIMD_PACKEDMATRIX_H
#define SHARDC_RUNTIME_KERNELS_HOST_SIMD_PACKEDMATRIX_H

#include "runtime/kernels/Kernel.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace shardc::runtime::host {

inline constexpr int64_t kPanelColumns = 16;
constexpr int64_t panelsOf(int64_t columns) {
  return (columns + kPanelColumns - 1) / kPanelColumns;
}
/// Panels that a thread takes at least: a multiple of those of any loop's tiles,
/// but fewer where there would not be two such ranges for each.
constexpr int64_t panelsAtOnce(int64_t panels, int64_t threads) {
  constexpr int64_t kMost = 12;
  const int64_t half = (panels + 2 * threads - 1) / (2 * threads);
  return std::clamp<int64_t>((half + 1) / 2 * 2, 2, kMost);
}
/// Rows of B whose products are added up before they reach C.
inline constexpr int64_t kDepthBlock = 384;

/// Bytes of the packed form of a matrix [k, n] of any strides; 0 where it has
/// none: for elements other than float32, float16 and bfloat16.
int64_t packedMatrixBytes(const TensorView &matrix);

/// Whether pages of a file that a matrix is packed from leave the process: they
/// stay where another call packs it again.
enum class SourcePages : uint8_t { Stay, Leave };

/// `to` is aligned to 64 bytes and has room for packedMatrixBytes(matrix).
void packMatrix(const TensorView &matrix, std::byte *to,
                SourcePages pages = SourcePages::Stay);

/// The same panels of a matrix of float or float16, rounded to bfloat16.
void packMatrixRounded(const TensorView &matrix, std::byte *to,
                       SourcePages pages = SourcePages::Stay);

/// The two first, or those of Tiles.h where this processor multiplies by these: what
/// a kernel asks for its right operand `input`.
int64_t packedOperandBytes(const TensorView &matrix);
void packOperand(const TensorView &matrix, std::byte *to, SourcePages pages);
inline void packOperandOnce(const TensorView &matrix, std::byte *to) {
  packOperand(matrix, to, SourcePages::Leave);
}
inline constexpr OperandPacking packingOfInput(int input) {
  return {input, packedOperandBytes, packOperandOnce, /*rank=*/2,
          alwaysReplaces};
}

/// C [m, n] = alpha A [m, k] B [k, n] + beta C; steps count elements.
struct PackedProduct {
  int64_t m = 0, n = 0, k = 0;
  const float *a = nullptr;
  int64_t rowStepA = 0, depthStepA = 1;
  const std::byte *b = nullptr;
  artifact::ElementType element = artifact::ElementType_Float32; ///< of B
  int64_t depthStepB = kPanelColumns; ///< from row to row of a panel
  int64_t panelStepB = 0;
  float *c = nullptr;
  int64_t leadingC = 0; ///< columns of C are next to each other
  float alpha = 1, beta = 0;

  /// As packMatrix leaves it.
  void setPacked(const std::byte *packed, artifact::ElementType type) {
    b = packed;
    element = type;
    depthStepB = kPanelColumns;
    panelStepB = k * kPanelColumns;
  }
  /// Dense rows of B as they lie; n is a multiple of kPanelColumns.
  void setRows(const std::byte *rows, artifact::ElementType type,
               int64_t leading) {
    b = rows;
    element = type;
    depthStepB = leading;
    panelStepB = kPanelColumns;
  }
};

/// Computes it on the threads of the rank. What C holds is not read
/// where beta is 0. Any size may be 0.
void multiplyPacked(const PackedProduct &product);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_SIMD_PACKEDMATRIX_H
