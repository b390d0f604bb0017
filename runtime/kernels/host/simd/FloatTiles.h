//===- FloatTiles.h - Products of float with bfloat16 in tiles ------------===//
//
// Weights of bfloat16 that lie as Tiles.h has them, where what they are multiplied
// by stays in float (experts of `--weights-type bf16`, whose tokens are f32): both
// halves of a word become the floats of two steps of k in registers. Sums are made
// in the order of PackedMatrix.h, so they have the bits of the same matrix in
// panels.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_SIMD_FLOATTILES_H
#define SHARDC_RUNTIME_KERNELS_HOST_SIMD_FLOATTILES_H

#include "runtime/kernels/host/simd/PackedMatrix.h"

namespace shardc::runtime::host {

/// As multiplyPacked, of B as packTiles leaves it. Precondition:
/// areBFloat16InTiles().
void multiplyFloatTiles(const PackedProduct &product);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_SIMD_FLOATTILES_H
