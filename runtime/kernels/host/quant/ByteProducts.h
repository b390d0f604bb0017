//===- ByteProducts.h - Quantised weights times rounded activations -------===//
//
// Where the file (accuracy_level of MatMulNBits) lets activations be rounded to
// 8 bits: see ByteLoops.h. Blocks of weights have to be of whole words, and
// small enough that a few of them stay in the cache.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_QUANT_BYTEPRODUCTS_H
#define SHARDC_RUNTIME_KERNELS_HOST_QUANT_BYTEPRODUCTS_H

#include "runtime/kernels/host/quant/FieldMatrix.h"

namespace shardc::runtime::host {

/// Are there such loops for its blocks?
bool takesBytes(const FieldMatrix &matrix);

/// Of m rows.
int64_t byteScratchBytes(const FieldMatrix &matrix, int64_t m, int64_t k,
                         int64_t n);

/// C = A B on the threads of the rank: `product` has A and C. No size
/// is 0.
void multiplyBytes(const FieldMatrix &matrix, const PackedProduct &product,
                   std::byte *scratch);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_QUANT_BYTEPRODUCTS_H
