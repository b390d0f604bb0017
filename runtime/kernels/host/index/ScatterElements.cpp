//===- ScatterElements.cpp - Write elements along one axis ----------------===//
//
// A copy of data, in which updates are written (or combined) in order: of two
// updates of one element the later wins.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/index/IndexChecks.h"
#include "runtime/kernels/index/IndexReader.h"
#include "runtime/kernels/index/Scatter.h"
#include "runtime/kernels/layout/StridedCopy.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "ScatterElements";

Status run(const KernelCall &call) {
  int axis = 0;
  Reduction reduction = Reduction::None;
  SHARDC_RETURN_IF_ERROR(checkScatterElements(call, kName, axis));
  SHARDC_RETURN_IF_ERROR(readReduction(call, kName, reduction));
  const TensorView &data = call.inputs[0], &indices = call.inputs[1];
  SHARDC_RETURN_IF_ERROR(expectInRange(kName, indices, data.dims[axis]));
  const TensorView &updates = call.inputs[2], &out = call.outputs[0];
  TensorView target = out; // walked with the indices, the axis aside
  target.strides[axis] = 0;
  const auto nest = nestOf(indices, updates, target);
  const IndexReader index(indices);
  const int64_t size = out.dims[axis], step = out.strides[axis];
  const auto scatter = [&](auto tag) {
    using T = typename decltype(tag)::Type;
    StridedCopy(out, data)(out.data, data.data);
    forEachIndex(nest, [&](const int64_t (&at)[3]) {
      T &element = out.as<T>()[at[2] + index.wrapped(at[0], size) * step];
      element = combine(reduction, element, updates.as<T>()[at[1]]);
    });
  };
  return reduction == Reduction::None
             ? dispatchSize(data.element, kName, scatter)
             : dispatch(NumericTypes(), data.element, kName, scatter);
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
