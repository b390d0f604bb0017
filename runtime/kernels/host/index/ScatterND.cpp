//===- ScatterND.cpp - Write slices at index tuples -----------------------===//
//
// indices [n..., m], updates [n..., data dims after the first m]: a copy of
// data, in which each slice is written (or combined) in order.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/index/IndexChecks.h"
#include "runtime/kernels/index/IndexReader.h"
#include "runtime/kernels/index/Scatter.h"
#include "runtime/kernels/layout/StridedCopy.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "ScatterND";

/// Calls body(output offset, updates offset) for each slice.
template <typename Body>
Status forEachSlice(const TensorView &indices, const TensorView &updates,
                    const TensorView &out, Body body) {
  const int lead = indices.rank - 1;
  const int64_t tuple = indices.dims[lead], gap = indices.strides[lead];
  const IndexReader index(indices);
  Status status;
  const auto picks = nestOf(dimsOf(indices, 0, lead), dimsOf(updates, 0, lead));
  forEachIndex(picks, [&](const int64_t (&at)[2]) {
    int64_t target = 0;
    for (int64_t i = 0; i < tuple; ++i) {
      const int64_t offset = at[0] + i * gap, size = out.dims[i];
      const int64_t wrapped = index.wrapped(offset, size);
      if (wrapped < 0 || wrapped >= size) {
        status = indexFailure(kName, index[offset], size);
        return;
      }
      target += wrapped * out.strides[i];
    }
    body(target, at[1]);
  });
  return status;
}

Status run(const KernelCall &call) {
  Reduction reduction = Reduction::None;
  SHARDC_RETURN_IF_ERROR(checkScatterND(call, kName));
  SHARDC_RETURN_IF_ERROR(readReduction(call, kName, reduction));
  const TensorView &data = call.inputs[0], &indices = call.inputs[1];
  const TensorView &updates = call.inputs[2], &out = call.outputs[0];
  const int lead = indices.rank - 1;
  const TensorView to =
      dimsOf(out, static_cast<int>(indices.dims[lead]), out.rank);
  const TensorView from = dimsOf(updates, lead, updates.rank);
  StridedCopy(out, data)(out.data, data.data);
  if (reduction == Reduction::None) {
    const StridedCopy copy(to, from);
    const int64_t bytes = artifact::elementBytes(data.element);
    return forEachSlice(
        indices, updates, out, [&](int64_t target, int64_t source) {
          copy(out.data + target * bytes, updates.data + source * bytes);
        });
  }
  const auto slice = nestOf(to, from);
  return dispatch(NumericTypes(), data.element, kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return forEachSlice(
        indices, updates, out, [&](int64_t target, int64_t source) {
          forEachIndex(slice, [&](const int64_t (&at)[2]) {
            T &element = out.as<T>()[target + at[0]];
            element =
                combine(reduction, element, updates.as<T>()[source + at[1]]);
          });
        });
  });
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
