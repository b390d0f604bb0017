//===- FieldPairs.h - Weights of 2 to 8 bits as pairs of bfloat16 ---------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_SIMD_FIELDPAIRS_H
#define SHARDC_RUNTIME_KERNELS_HOST_SIMD_FIELDPAIRS_H

#include "runtime/kernels/StorageTypes.h"
#include "runtime/kernels/host/simd/FieldPanels.h"

namespace shardc::runtime::host {

/// A panel as Tiles.h has it, tiledDepth(fields.depth) rows: each number is what
/// DequantizeLinear says, rounded to bfloat16. `to` is aligned to 64 bytes.
/// Precondition: hasPairs().
void decodePairs(const FieldPanels &fields, int64_t panel, BFloat16 *to);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_SIMD_FIELDPAIRS_H
