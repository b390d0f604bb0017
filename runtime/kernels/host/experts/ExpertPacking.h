//===- ExpertPacking.h - Matrices of experts as products read them --------===//
//
// Weights [e, rows, columns] that stay the same are packed once, each expert's as
// the weights of a product are: fields of 2 to 8 bits (FieldMatrix.h), numbers in
// panels (PackedMatrix.h) or in tiles (Tiles.h), or rounded to bfloat16
// (RoundedProduct.h). They lie one after the other.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_EXPERTS_EXPERTPACKING_H
#define SHARDC_RUNTIME_KERNELS_HOST_EXPERTS_EXPERTPACKING_H

#include "runtime/kernels/Kernel.h"

namespace shardc::runtime::host {

/// What products of experts do to their operands.
enum class ExpertRounding : bool { None, BFloat16 };

/// Of one expert; 0 where its matrix is read as it lies.
int64_t packedExpertBytes(const TensorView &weights, ExpertRounding rounding);

void packExpert(const TensorView &weights, int64_t expert,
                ExpertRounding rounding, std::byte *to);

/// What a kernel asks for its operand `input`, whose scale is another one.
OperandPacking packingOfExperts(int input, int scale, ExpertRounding rounding);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_EXPERTS_EXPERTPACKING_H
