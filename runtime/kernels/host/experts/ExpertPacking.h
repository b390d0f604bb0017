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

#include "runtime/kernels/host/simd/PackedMatrix.h"

namespace shardc::runtime::host {

/// What products of experts do to their operands.
enum class ExpertRounding : bool { None, BFloat16 };

/// Whether it is one of bfloat16 that lies in tiles, for tokens of any type: those of
/// f32 meet such weights as well (`--weights-type bf16`), and stay as they are
/// (FloatTiles.h).
bool areExpertsInTiles(const TensorView &matrix);

/// Of one expert's matrix; 0 where it is read as it lies.
int64_t packedExpertBytes(const TensorView &matrix, ExpertRounding rounding);
void packExpert(const TensorView &matrix, ExpertRounding rounding,
                std::byte *to, SourcePages pages);

/// What a kernel asks for its operand `input`.
template <ExpertRounding Rounding>
OperandPacking packingOfExperts(int input,
                                bool (*replaces)(const KernelCall &call)) {
  return {input,
          [](const TensorView &matrix) {
            return packedExpertBytes(matrix, Rounding);
          },
          [](const TensorView &matrix, std::byte *to) {
            packExpert(matrix, Rounding, to, SourcePages::Leave);
          },
          /*rank=*/3, replaces};
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_EXPERTS_EXPERTPACKING_H
