//===- ReshapedParameter.h - Scales of a tensor that is reshaped ----------===//
#ifndef SHARDC_PASSES_IMPORT_WEIGHTS_RESHAPEDPARAMETER_H
#define SHARDC_PASSES_IMPORT_WEIGHTS_RESHAPEDPARAMETER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace shardc::import {

/// How a parameter of a tensor [from] lies along [to], to which that is reshaped:
/// its dims, and along which of them it has one for each block.
///
///   [n, 8, 32] -> [n, 256]: [n, 1, 1] -> [n, 1];
///                           [n, 8, 1] -> [n, 8], axis 1, blocks of 32
///
/// None where neither is so: [n, 1, 32] repeats itself along 256.
struct ReshapedParameter {
  llvm::SmallVector<int64_t, 4> dims;
  int64_t axis = 0, block = 0; ///< 0: there are none

  static std::optional<ReshapedParameter> of(llvm::ArrayRef<int64_t> parameter,
                                             llvm::ArrayRef<int64_t> from,
                                             llvm::ArrayRef<int64_t> to);
};

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_WEIGHTS_RESHAPEDPARAMETER_H
