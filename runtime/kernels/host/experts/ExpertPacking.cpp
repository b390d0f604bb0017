//===- ExpertPacking.cpp - Matrices of experts as products read them ------===//

#include "runtime/kernels/host/experts/ExpertPacking.h"

#include "runtime/kernels/host/quant/FieldMatrix.h"
#include "runtime/kernels/host/simd/RoundedProduct.h"

namespace shardc::runtime::host {

int64_t packedExpertBytes(const TensorView &matrix, ExpertRounding rounding) {
  if (rounding == ExpertRounding::BFloat16)
    return roundedLoops().matrixBytes(matrix);
  FieldMatrix fields;
  return fields.readMatrix(matrix) ? fields.packedBytes()
                                   : packedOperandBytes(matrix);
}

void packExpert(const TensorView &matrix, ExpertRounding rounding,
                std::byte *to, SourcePages pages) {
  FieldMatrix fields;
  if (rounding == ExpertRounding::BFloat16)
    roundedLoops().pack(matrix, to, pages);
  else if (fields.readMatrix(matrix))
    fields.pack(to);
  else
    packOperand(matrix, to, pages);
}

} // namespace shardc::runtime::host
