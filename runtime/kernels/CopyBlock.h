//===- CopyBlock.h - Between a tensor and the part of it that a rank has --===//
//
// Example: rank 1 of tp = 2 packs the right half of a [96, 384] weight:
//   copyBlock({whole(96), {384, 192, {{192, 192}}}}, global, local, ToLocal)
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_COPYBLOCK_H
#define SHARDC_RUNTIME_KERNELS_COPYBLOCK_H

#include "runtime/tensor/Ownership.h"
#include "runtime/tensor/TensorView.h"

#include <span>

namespace shardc::runtime {

enum class BlockCopy { ToLocal, ToGlobal };

/// Copies between a global tensor and the local block of it that `dims`, one
/// entry for each dim, describe. Where one is of another float type, the
/// elements are cast.
void copyBlock(std::span<const OwnedRuns> dims, const TensorView &global,
               const TensorView &local, BlockCopy direction);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_KERNELS_COPYBLOCK_H
