//===- Pairs.h - Products of bfloat16 by pairs ----------------------------===//
//
// Processors with AVX512-BF16 multiply two steps of k for 16 columns in one
// instruction, and add up in float. B lies as Tiles.h has it. Each element of C
// is one sum over k in one order.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_SIMD_PAIRS_H
#define SHARDC_RUNTIME_KERNELS_HOST_SIMD_PAIRS_H

#include "runtime/kernels/host/simd/Tiles.h"

namespace shardc::runtime::host {

bool hasPairs();

/// As multiplyTiles does, of a C in float. Precondition: hasPairs().
void multiplyPairs(const TileProduct &product);
/// As multiplyTilesOf does.
void multiplyPairsOf(const TileProduct &product, Span panels);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_SIMD_PAIRS_H
