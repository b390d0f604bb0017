//===- Reduction.h - Elementwise reduction of several tensors -------------===//
//
// out[i] = a[i] op b[i] op c[i] ..., always in that order, so the result does
// not depend on who computes it or on which part. Of more than 8 those of each 8
// come first, and then those of each 8 of these, whatever the machine:
//
//   20 inputs    (0 + .. + 7) + (8 + .. + 15) + (16 + .. + 19)
//
// 16-bit floats are accumulated in f32 and rounded once; integers wrap; max and
// min propagate NaN.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_COLLECTIVES_REDUCTION_H
#define SHARDC_RUNTIME_COLLECTIVES_REDUCTION_H

#include "runtime/collectives/Communicator.h"

#include <span>

namespace shardc::runtime {

/// Inputs that are reduced one after the other.
constexpr size_t kReduceFan = 8;

/// What sums of it are accumulated in.
artifact::ElementType accumulatorOf(artifact::ElementType element);

/// Reduces the elements [begin, end) in row-major order. All views have the
/// same dims and element type; but that of `output`, or of all inputs, may be
/// the accumulator of the others': what some ranks have is reduced, and then
/// with that of others. `output` may be one of the inputs.
Status reduceRange(ReduceKind kind, std::span<const TensorView> inputs,
                   const TensorView &output, int64_t begin, int64_t end);

/// Copies the elements [begin, end) in row-major order between views of the
/// same dims.
void copyRange(const TensorView &output, const TensorView &input, int64_t begin,
               int64_t end);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_COLLECTIVES_REDUCTION_H
