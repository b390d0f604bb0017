//===- Tiles.h - Products of bfloat16 in the tiles of AMX -----------------===//
//
// Processors with AMX multiply 16 rows by 16 columns in one instruction, 32
// steps of k at a time, and add up in float. B [k, n] lies as such tiles: for
// each panel of 16 columns, blocks of 32 rows, filled up with zeros, in pairs:
//
//   block of a panel   b[0][0] b[1][0] b[0][1] b[1][1] .. b[0][15] b[1][15]
//                      b[2][0] b[3][0] ..                 16 rows of 64 bytes
//
// A has dense rows of bfloat16, of a multiple of 32 where that is not k. Each
// element of C is one sum over k in one order, whatever the other rows and
// columns are and however many there are: it is not the order of PackedMatrix.h,
// so a matrix that is packed as tiles is always multiplied as such.
// (Intel Architecture Instruction Set Extensions, TDPBF16PS; what is below
// 2^-126 counts as zero.) C is rounded once, or stays in float.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_SIMD_TILES_H
#define SHARDC_RUNTIME_KERNELS_HOST_SIMD_TILES_H

#include "runtime/kernels/Kernel.h"
#include "runtime/kernels/StorageTypes.h"
#include "runtime/kernels/host/simd/PackedMatrix.h"

#include <cstddef>
#include <cstdint>

namespace shardc::runtime::host {

inline constexpr int64_t kTileDepth = 32;

/// Whether the processor has them, and the system lets this process use them.
bool hasTiles();

/// k, or as much more as a row of A in tiles has.
inline int64_t tiledDepth(int64_t k) {
  return (k + kTileDepth - 1) / kTileDepth * kTileDepth;
}

/// Of a matrix [k, n] of any strides; float and float16 are rounded.
int64_t tiledMatrixBytes(const TensorView &matrix);
/// `to` is aligned to 64 bytes.
void packTiles(const TensorView &matrix, std::byte *to,
               SourcePages pages = SourcePages::Stay);

struct Span;

/// C [m, n] = alpha A [m, k] B [k, n] + beta C; steps count elements.
struct TileProduct {
  int64_t m = 0, n = 0, k = 0;
  const BFloat16 *a = nullptr; ///< tiledDepth(k) of a row are there
  int64_t rowStepA = 0;
  const std::byte *b = nullptr; ///< as packTiles leaves it
  int64_t panelStepB = 0;       ///< 0: no more of a panel is there than k
  bool isCached = false;        ///< B was written just now
  BFloat16 *c = nullptr;        ///< its columns are next to each other
  float *sums = nullptr;        ///< C in float, in place of `c`
  int64_t leadingC = 0;
  float alpha = 1, beta = 0;
};

/// Dense rows of float as bfloat16. Precondition: AVX512-BF16.
void roundToTiles(const float *row, int64_t count, BFloat16 *to);

/// On the threads of the rank. What C holds is not read where beta is 0.
/// Precondition: hasTiles().
void multiplyTiles(const TileProduct &product);
/// Columns of C that belong to these panels of B, on this thread.
void multiplyTilesOf(const TileProduct &product, Span panels);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_SIMD_TILES_H
