//===- FieldProducts.h - Products with weights of 2 to 8 bits -------------===//
//
// Panels of weights come into the cache a block of depth at a time, unless they
// were packed. A few rows
// of float are multiplied as fields become numbers in registers; for more the
// numbers of a block are made once, and multiplied as packed ones are.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_QUANT_FIELDPRODUCTS_H
#define SHARDC_RUNTIME_KERNELS_HOST_QUANT_FIELDPRODUCTS_H

#include "runtime/kernels/host/quant/FieldMatrix.h"

namespace shardc::runtime::host {

/// Of so many rows of elements of that type.
int64_t fieldScratchBytes(const FieldMatrix &matrix,
                          artifact::ElementType element, int64_t n, int64_t m);

/// C = A B on the threads of the rank: `product` has A and C. Rounds
/// numbers to `element`. No size is 0.
void multiplyFields(const FieldMatrix &matrix, artifact::ElementType element,
                    const PackedProduct &product, std::byte *scratch);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_QUANT_FIELDPRODUCTS_H
