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

/// Whether nothing else here multiplies faster. Intel's processors take as long
/// for the pairs of one instruction as for four FMAs, which multiply twice as much
/// (Emerald Rapids: 0.77 and 4 x 0.19 ns), AMD's as long as for one. It follows
/// from who made it, as bits would depend on how a measurement came out.
bool arePairsFast();

/// As multiplyTiles does. Precondition: hasPairs().
void multiplyPairs(const TileProduct &product);
/// As multiplyTilesOf does.
void multiplyPairsOf(const TileProduct &product, Span panels);

/// Whether matrices of bfloat16 lie as tiles have them, since this processor
/// multiplies them so, or by pairs, faster than as floats.
bool areBFloat16InTiles();
/// In the faster way of the two. Precondition: areBFloat16InTiles().
void multiplyBFloat16(const TileProduct &product);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_SIMD_PAIRS_H
