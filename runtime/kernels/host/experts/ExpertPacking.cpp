//===- ExpertPacking.cpp - Matrices of experts as products read them ------===//

#include "runtime/kernels/host/experts/ExpertPacking.h"

#include "runtime/base/AlignedBuffer.h"
#include "runtime/kernels/StridedLoop.h"
#include "runtime/kernels/host/quant/FieldMatrix.h"
#include "runtime/kernels/host/simd/RoundedProduct.h"
#include "runtime/tensor/CopyView.h"

namespace shardc::runtime::host {
namespace {

TensorView matrixOf(const TensorView &weights, int64_t expert) {
  return dimsOf(narrowed(weights, 0, expert, 1), 1, 3);
}

template <ExpertRounding Rounding>
int64_t packedBytes(const TensorView &weights) {
  return weights.dims[0] * packedExpertBytes(weights, Rounding);
}

template <ExpertRounding Rounding>
void packAll(const TensorView &weights, std::byte *to) {
  const int64_t bytes = packedExpertBytes(weights, Rounding);
  for (int64_t expert = 0; expert < weights.dims[0]; ++expert)
    packExpert(weights, expert, Rounding, to + expert * bytes);
}

} // namespace

int64_t packedExpertBytes(const TensorView &weights, ExpertRounding rounding) {
  if (weights.numElements() == 0)
    return 0;
  const TensorView matrix = matrixOf(weights, 0);
  if (rounding == ExpertRounding::BFloat16)
    return alignBuffer(roundedLoops().matrixBytes(matrix));
  FieldMatrix fields;
  return alignBuffer(fields.readMatrix(matrix) ? fields.packedBytes()
                                               : packedOperandBytes(matrix));
}

void packExpert(const TensorView &weights, int64_t expert,
                ExpertRounding rounding, std::byte *to) {
  const TensorView matrix = matrixOf(weights, expert);
  FieldMatrix fields;
  if (rounding == ExpertRounding::BFloat16)
    roundedLoops().pack(matrix, to, SourcePages::Leave);
  else if (fields.readMatrix(matrix))
    fields.pack(to);
  else
    packOperand(matrix, to);
}

OperandPacking packingOfExperts(int input, int scale, ExpertRounding rounding) {
  OperandPacking packing = {input,
                            packedBytes<ExpertRounding::None>,
                            packAll<ExpertRounding::None>,
                            /*rank=*/3,
                            /*replaces=*/true,
                            scale};
  if (rounding == ExpertRounding::BFloat16) {
    packing.bytes = packedBytes<ExpertRounding::BFloat16>;
    packing.pack = packAll<ExpertRounding::BFloat16>;
  }
  return packing;
}

} // namespace shardc::runtime::host
