//===- StridedCopy.h - Copying between tensors of any strides -------------===//
//
// copyView is the one loop that moves tensor data: slices of weights and
// inputs, blocks of collectives, outputs. Never allocates.
//
// Example: rank 1 of tp = 2 packs the right half of a [96, 384] weight:
//   copyBlock({whole(96), {384, 192, {{192, 192}}}}, global, local, ToLocal)
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_EXEC_STRIDEDCOPY_H
#define SHARDC_RUNTIME_EXEC_STRIDEDCOPY_H

#include "runtime/exec/Kernel.h"
#include "runtime/exec/Ownership.h"

#include <span>

namespace shardc::runtime {

/// Row-major view on packed memory.
TensorView packedView(const void *data, artifact::ElementType element,
                      std::span<const int64_t> dims);

/// Row-major view on packed memory, of the dims and elements of `like`.
TensorView packedLike(const void *data, const TensorView &like);

/// What its elements take, packed.
int64_t viewBytes(const TensorView &view);

/// Elements [start, start + length) of one dim of `view`.
TensorView narrowed(const TensorView &view, int dim, int64_t start,
                    int64_t length);

/// Copies all elements. Both views have the same dims and element type and do
/// not overlap (or are the same); strides of `source` may be 0 or negative.
void copyView(const TensorView &destination, const TensorView &source);

enum class BlockCopy { ToLocal, ToGlobal };

/// Copies between a global tensor and the local block of it that `dims`, one
/// entry for each dim, describe. Where one is of another float type, the
/// elements are cast.
void copyBlock(std::span<const OwnedRuns> dims, const TensorView &global,
               const TensorView &local, BlockCopy direction);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXEC_STRIDEDCOPY_H
