//===- ConstantMatrix.h - Operands that are the same in all runs ----------===//
#ifndef SHARDC_RUNTIME_WEIGHTS_CONSTANTMATRIX_H
#define SHARDC_RUNTIME_WEIGHTS_CONSTANTMATRIX_H

#include "runtime/artifact/Format.h"
#include "runtime/tensor/TensorView.h"

#include <cstdint>
#include <optional>
#include <span>

namespace shardc::runtime {

struct ConstantMatrix {
  TensorView view;        ///< without data
  int64_t byteOffset = 0; ///< in its buffer
};

/// The last `rank` dims of a view, where they are all that it has, and alike in all
/// runs: what was packed of them stays when a plan is bound to other sizes. W[0:s]
/// is no such matrix, though it is one where s is 1.
std::optional<ConstantMatrix>
findConstantMatrix(const artifact::Program &program,
                   std::span<const uint8_t> dependence,
                   std::span<const int64_t> scalars, uint32_t view, int rank);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_WEIGHTS_CONSTANTMATRIX_H
