//===- IndexChecks.h - Operands of gathers and scatters that fit ----------===//
//
// On every backend: whether indices are in range is told by what reads them.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_INDEX_INDEXCHECKS_H
#define SHARDC_RUNTIME_KERNELS_INDEX_INDEXCHECKS_H

#include "runtime/kernels/index/IndexReader.h"

namespace shardc::runtime::host {

/// Index dims other than the axis may be smaller than the data's.
inline Status expectFit(std::string_view kernel, const TensorView &data,
                        const TensorView &indices, int axis) {
  bool fits = data.rank == indices.rank;
  for (int d = 0; d < data.rank && fits; ++d)
    fits = d == axis || indices.dims[d] <= data.dims[d];
  return fits ? Status::ok()
              : failure(kernel, "indices " + dimsToString(indices) +
                                    " do not fit data " + dimsToString(data));
}

inline Status checkGatherElements(const KernelCall &call,
                                  std::string_view kernel, int &axis) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kernel, 2));
  const TensorView &data = call.inputs[0], &indices = call.inputs[1];
  const TensorView &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(readAxis(call, kernel, data.rank, axis));
  SHARDC_RETURN_IF_ERROR(expectIndices(kernel, indices));
  SHARDC_RETURN_IF_ERROR(expectDims(kernel, indices, out));
  SHARDC_RETURN_IF_ERROR(expectElement(kernel, data.element, out));
  return expectFit(kernel, data, indices, axis);
}

inline Status checkScatterElements(const KernelCall &call,
                                   std::string_view kernel, int &axis) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kernel, 3));
  const TensorView &data = call.inputs[0], &indices = call.inputs[1];
  SHARDC_RETURN_IF_ERROR(readAxis(call, kernel, data.rank, axis));
  SHARDC_RETURN_IF_ERROR(expectIndices(kernel, indices));
  SHARDC_RETURN_IF_ERROR(expectDims(kernel, indices, call.inputs[2]));
  SHARDC_RETURN_IF_ERROR(expectElement(kernel, data.element, call.inputs[2]));
  SHARDC_RETURN_IF_ERROR(expectLike(kernel, data, call.outputs[0]));
  return expectFit(kernel, data, indices, axis);
}

inline Status checkGatherND(const KernelCall &call, std::string_view kernel) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kernel, 2));
  const TensorView &data = call.inputs[0], &indices = call.inputs[1];
  const TensorView &out = call.outputs[0];
  const int64_t batchDims = call.intOr("batch_dims", 0);
  SHARDC_RETURN_IF_ERROR(expectIndices(kernel, indices));
  if (indices.rank < 1 || batchDims < 0 || batchDims >= indices.rank)
    return failure(kernel, "batch_dims exceeds the indices' dims");
  const int lead = indices.rank - 1;
  const int64_t sliceBegin = batchDims + indices.dims[lead];
  if (sliceBegin < batchDims || sliceBegin > data.rank)
    return failure(kernel, "index tuples are longer than the data's rank");
  TensorView expected = dimsOf(indices, 0, lead);
  expected.element = data.element;
  if (lead + data.rank - sliceBegin > kMaxRank)
    return failure(kernel, "the output has too many dims");
  for (int64_t d = sliceBegin; d < data.rank; ++d)
    expected.dims[expected.rank++] = data.dims[d];
  for (int64_t d = 0; d < batchDims; ++d)
    if (data.dims[d] != indices.dims[d])
      return failure(kernel, "batch dims of data and indices differ");
  return expectLike(kernel, expected, out);
}

inline Status checkScatterND(const KernelCall &call, std::string_view kernel) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kernel, 3));
  const TensorView &data = call.inputs[0], &indices = call.inputs[1];
  SHARDC_RETURN_IF_ERROR(expectIndices(kernel, indices));
  SHARDC_RETURN_IF_ERROR(expectLike(kernel, data, call.outputs[0]));
  const int lead = indices.rank - 1;
  if (lead < 0 || indices.dims[lead] > data.rank)
    return failure(kernel, "index tuples are longer than the data's rank");
  const int tuple = static_cast<int>(indices.dims[lead]);
  if (lead + data.rank - tuple > kMaxRank)
    return failure(kernel, "the updates have too many dims");
  TensorView expected = dimsOf(indices, 0, lead);
  expected.element = data.element;
  for (int d = tuple; d < data.rank; ++d)
    expected.dims[expected.rank++] = data.dims[d];
  return expectLike(kernel, expected, call.inputs[2]);
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_INDEX_INDEXCHECKS_H
