//===- CopyView.h - Copying between views of any strides ------------------===//
//
// copyView is the one loop that moves tensor data: slices of weights and
// inputs, blocks of collectives, outputs. Never allocates.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TENSOR_COPYVIEW_H
#define SHARDC_RUNTIME_TENSOR_COPYVIEW_H

#include "runtime/tensor/TensorView.h"

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

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TENSOR_COPYVIEW_H
