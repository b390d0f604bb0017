//===- RoundedFields.h - Quantised weights times bfloat16 -----------------===//
//
// Where the user asks for it (--compute bf16) numbers of weights of 2 to 8 bits
// are rounded to bfloat16, and so are activations; sums are made in float, in
// tiles or by pairs (Tiles.h, Pairs.h). A few panels of numbers exist at a time.
// Bits of a row do not depend on the other rows.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_QUANT_ROUNDEDFIELDS_H
#define SHARDC_RUNTIME_KERNELS_HOST_QUANT_ROUNDEDFIELDS_H

#include "runtime/kernels/host/quant/FieldMatrix.h"
#include "runtime/kernels/host/simd/Tiles.h"

namespace shardc::runtime::host {

/// Is there anything to win by it on this processor?
bool roundsFields();

/// Of m rows.
int64_t roundedScratchBytes(const FieldMatrix &matrix, int64_t m, int64_t k,
                            int64_t n);

/// C = A B on the threads of the rank: `product` has A and C. No size is
/// 0. Precondition: hasPairs(); for tiles hasTiles().
void multiplyRoundedFields(const FieldMatrix &matrix,
                           const PackedProduct &product, std::byte *scratch,
                           bool inTiles = hasTiles());

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_QUANT_ROUNDEDFIELDS_H
