//===- ExpertPacking.cpp - Matrices of experts as products read them ------===//

#include "runtime/kernels/host/experts/ExpertPacking.h"

#include "runtime/kernels/host/quant/FieldMatrix.h"
#include "runtime/kernels/host/simd/Pairs.h"
#include "runtime/kernels/host/simd/RoundedProduct.h"

namespace shardc::runtime::host {

bool areExpertsInTiles(const TensorView &matrix) {
  return matrix.element == artifact::ElementType_BFloat16 &&
         areBFloat16InTiles();
}

int64_t packedExpertBytes(const TensorView &matrix, ExpertRounding rounding) {
  if (rounding == ExpertRounding::BFloat16)
    return roundedLoops().matrixBytes(matrix);
  FieldMatrix fields;
  if (fields.readMatrix(matrix))
    return fields.packedBytes();
  return areExpertsInTiles(matrix) ? tiledMatrixBytes(matrix)
                                   : packedMatrixBytes(matrix);
}

void packExpert(const TensorView &matrix, ExpertRounding rounding,
                std::byte *to, SourcePages pages) {
  FieldMatrix fields;
  if (rounding == ExpertRounding::BFloat16)
    roundedLoops().pack(matrix, to, pages);
  else if (fields.readMatrix(matrix))
    fields.pack(to);
  else
    (areExpertsInTiles(matrix) ? packTiles : packMatrix)(matrix, to, pages);
}

} // namespace shardc::runtime::host
