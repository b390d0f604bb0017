//===- RoundedProduct.h - Products in bfloat16 of what has more bits ------===//
//
// Both matrices are rounded to bfloat16, B once, and products are added up in
// float: in tiles where the processor has them (Tiles.h), by pairs where they are
// fast (Pairs.h), or as those of PackedMatrix.h are. Bits of a row do not depend on
// the other rows.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_SIMD_ROUNDEDPRODUCT_H
#define SHARDC_RUNTIME_KERNELS_HOST_SIMD_ROUNDEDPRODUCT_H

#include "runtime/kernels/StorageTypes.h"
#include "runtime/kernels/host/simd/PackedMatrix.h"

#include <span>

namespace shardc::runtime::host {

/// One way to do it. All memory is aligned to 64 bytes.
struct RoundedLoops {
  /// Of a matrix [k, n] of float or float16, of any strides; 0: none of another.
  int64_t (*matrixBytes)(const TensorView &matrix);
  void (*pack)(const TensorView &matrix, std::byte *to, SourcePages pages);
  /// What m rows of k need.
  int64_t (*rowsBytes)(int64_t m, int64_t k);
  /// Computes a product that has no B by one that was packed, on the threads of
  /// the rank.
  void (*multiply)(const PackedProduct &product, const std::byte *b,
                   std::byte *scratch);
};

/// Those that this processor can run, the fastest first.
std::span<const RoundedLoops *const> supportedRoundedLoops();

const RoundedLoops &roundedLoops();

/// A of m rows as tiles and pairs take it, tiledDepth(k) of a row.
int64_t roundedRowsBytes(int64_t m, int64_t k);
/// `count` numbers, and zeros up to tiledDepth(count). Precondition: hasPairs().
void roundInTiles(const float *row, int64_t step, int64_t count, BFloat16 *to);
/// On the threads of the rank. Precondition: hasPairs().
void roundRows(const PackedProduct &product, BFloat16 *rows);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_SIMD_ROUNDEDPRODUCT_H
