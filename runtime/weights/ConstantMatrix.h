//===- ConstantMatrix.h - Operands that are the same in all runs ----------===//
#ifndef SHARDC_RUNTIME_WEIGHTS_CONSTANTMATRIX_H
#define SHARDC_RUNTIME_WEIGHTS_CONSTANTMATRIX_H

#include "runtime/artifact/Format.h"
#include "runtime/tensor/TensorView.h"

#include <cstdint>
#include <span>

namespace shardc::runtime {

/// The last `rank` dims of a view, where they are all that it has, and alike in all
/// runs: what was packed of them stays when a plan is bound to other sizes. W[0:s]
/// is no such matrix, though it is one where s is 1. The view has no data.
bool findConstantMatrix(const artifact::Program &program,
                        std::span<const uint8_t> dependence,
                        std::span<const int64_t> scalars, uint32_t view,
                        int rank, TensorView &matrix);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_WEIGHTS_CONSTANTMATRIX_H
