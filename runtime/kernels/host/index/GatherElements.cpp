//===- GatherElements.cpp - Elements picked along one axis ----------------===//
//
// Where indices are repeated along the dims behind the axis, all elements of
// these are copied at once:
//
//   data [b, 8, 4097, 128], indices [b, 1, 4096, 1] expanded: rows of 128
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/host/ThreadedLoop.h"
#include "runtime/kernels/index/IndexChecks.h"
#include "runtime/kernels/index/IndexReader.h"
#include "runtime/kernels/layout/StridedCopy.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "GatherElements";

/// From which dim on an index is that of all elements: the rank if there is none.
int firstRepeated(const TensorView &indices, int axis) {
  int first = indices.rank;
  while (first > axis + 1 && indices.dims[first - 1] > 0 &&
         (indices.strides[first - 1] == 0 || indices.dims[first - 1] == 1))
    --first;
  return first;
}

/// `source`: data, walked with the indices, the axis aside.
void copyRows(const TensorView &out, const TensorView &indices,
              const TensorView &source, int first, int64_t size, int64_t step) {
  const StridedCopy copy(dimsOf(out, first, out.rank),
                         dimsOf(source, first, source.rank));
  const auto rows = nestOf(dimsOf(out, 0, first), dimsOf(indices, 0, first),
                           dimsOf(source, 0, first));
  const IndexReader index(indices);
  const int64_t bytes = artifact::elementBytes(out.element);
  const int64_t width = dimsOf(out, first, out.rank).numElements();
  forEachIndexOnThreads(rows, width, [&](const int64_t (&at)[3]) {
    copy(out.data + at[0] * bytes,
         source.data + (at[2] + index.wrapped(at[1], size) * step) * bytes);
  });
}

Status run(const KernelCall &call) {
  int axis = 0;
  SHARDC_RETURN_IF_ERROR(checkGatherElements(call, kName, axis));
  const TensorView &data = call.inputs[0], &indices = call.inputs[1];
  const TensorView &out = call.outputs[0];
  const int first = firstRepeated(indices, axis);
  SHARDC_RETURN_IF_ERROR(
      expectInRange(kName, dimsOf(indices, 0, first), data.dims[axis]));
  TensorView source = data; // walked with the indices, the axis aside
  source.strides[axis] = 0;
  if (dimsOf(out, first, out.rank).numElements() > 1 &&
      artifact::elementBytes(data.element) > 0) {
    copyRows(out, indices, source, first, data.dims[axis], data.strides[axis]);
    return Status::ok();
  }
  const auto nest = nestOf(out, indices, source);
  const IndexReader index(indices);
  const int64_t size = data.dims[axis], step = data.strides[axis];
  return dispatchSize(data.element, kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    forEachIndex(nest, [&](const int64_t (&at)[3]) {
      out.as<T>()[at[0]] =
          data.as<T>()[at[2] + index.wrapped(at[1], size) * step];
    });
  });
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
