//===- NormalizationOperands.h - Rows of a norm with their parameters -----===//
//
// For LayerNormalization and RMSNormalization on every backend.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_NORM_NORMALIZATIONOPERANDS_H
#define SHARDC_RUNTIME_KERNELS_NORM_NORMALIZATIONOPERANDS_H

#include "runtime/kernels/Check.h"
#include "runtime/kernels/StridedLoop.h"

namespace shardc::runtime::host {

/// Views of one call; bias, mean and inverse may be absent.
struct NormalizationOperands {
  TensorView x, scale, bias, y, mean, inverse;
  int axis = 0;
  double epsilon = 0;
};

/// Scale or bias must cover the row; an absent one gets the row's dims.
inline Status bindParameter(const KernelCall &call, const char *name, int index,
                            NormalizationOperands &o, TensorView &parameter) {
  const TensorView row = dimsOf(o.x, o.axis, o.x.rank);
  parameter = row;
  parameter.data = nullptr;
  if (!hasInput(call, index))
    return Status::ok();
  parameter = call.inputs[index];
  return expectLike(name, row, parameter);
}

/// An optional statistic has one element a row, of trailing dims 1 if any.
inline Status bindStatistic(const KernelCall &call, const char *name, int index,
                            NormalizationOperands &o, TensorView &statistic) {
  statistic = dimsOf(o.y, 0, o.axis);
  statistic.data = nullptr;
  if (!hasOutput(call, index))
    return Status::ok();
  const TensorView &view = call.outputs[index];
  if (view.rank < o.axis)
    return failure(name, "statistics have dims " + dimsToString(view));
  const bool wide = o.x.element == artifact::ElementType_Float64;
  SHARDC_RETURN_IF_ERROR(expectElement(name,
                                       wide ? artifact::ElementType_Float64
                                            : artifact::ElementType_Float32,
                                       view));
  const TensorView expected = statistic;
  statistic = dimsOf(view, 0, o.axis);
  return expectDims(name, expected, statistic);
}

inline Status readNormalization(const KernelCall &call, const char *name,
                                NormalizationOperands &o) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, name, 2));
  o.x = call.inputs[0];
  o.y = call.outputs[0];
  o.epsilon = call.floatOr("epsilon", 1e-5);
  SHARDC_RETURN_IF_ERROR(expectLike(name, o.y, o.x));
  SHARDC_RETURN_IF_ERROR(readAxis(call, name, o.x.rank, o.axis));
  SHARDC_RETURN_IF_ERROR(bindParameter(call, name, 1, o, o.scale));
  SHARDC_RETURN_IF_ERROR(bindParameter(call, name, 2, o, o.bias));
  SHARDC_RETURN_IF_ERROR(bindStatistic(call, name, 1, o, o.mean));
  SHARDC_RETURN_IF_ERROR(bindStatistic(call, name, 2, o, o.inverse));
  return Status::ok();
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_NORM_NORMALIZATIONOPERANDS_H
