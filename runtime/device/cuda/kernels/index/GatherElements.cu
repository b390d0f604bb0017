//===- GatherElements.cu - GatherElements and GatherND on a GPU -----------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/index/IndexTuple.h"
#include "runtime/device/cuda/kernels/layout/Nest.h"
#include "runtime/kernels/index/IndexChecks.h"

namespace shardc::runtime::cuda {
namespace {

/// Strides: out, indices, data (0 along the axis).
template <typename T>
__global__ void gatherElementsKernel(T *out, const T *data,
                                     host::IndexReader indices, Nest<3> nest,
                                     int64_t size, int64_t step, Fault fault) {
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[3];
    nest.offsets(i, at);
    const int64_t index = indices.wrapped(at[1], size);
    if (index < 0 || index >= size)
      report(fault);
    else
      out[at[0]] = data[at[2] + index * step];
  }
}

Status runGatherElements(const KernelCall &call) {
  constexpr char name[] = "GatherElements";
  int axis = 0;
  SHARDC_RETURN_IF_ERROR(host::checkGatherElements(call, name, axis));
  const TensorView &data = call.inputs[0], &indices = call.inputs[1];
  const TensorView &out = call.outputs[0];
  TensorView source = data; // walked with the indices, the axis aside
  source.strides[axis] = 0;
  const auto nest = nestOf(out, indices, source);
  return host::dispatchSize(data.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if (nest.count == 0)
      return Status::ok();
    return launch(gatherElementsKernel<T>, nest.grid(), streamOf(call),
                  out.as<T>(), data.as<T>(), host::IndexReader(indices), nest,
                  data.dims[axis], data.strides[axis], indexMayFail(call));
  });
}

/// Strides: out, indices, data.
template <typename T>
__global__ void gatherTuplesKernel(T *out, const T *data,
                                   host::IndexReader indices, Nest<3> nest,
                                   IndexTuple tuple, Fault fault) {
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[3];
    nest.offsets(i, at);
    if (tuple.addOffset(indices, at[1], at[2]))
      out[at[0]] = data[at[2]];
    else
      report(fault);
  }
}

Status runGatherND(const KernelCall &call) {
  constexpr char name[] = "GatherND";
  SHARDC_RETURN_IF_ERROR(host::checkGatherND(call, name));
  const TensorView &data = call.inputs[0], &indices = call.inputs[1];
  const TensorView &out = call.outputs[0];
  const int batch = static_cast<int>(call.intOr("batch_dims", 0));
  const int lead = indices.rank - 1;
  const IndexTuple tuple(indices, data, batch);
  Nest<3> nest;
  for (int d = 0; d < out.rank; ++d)
    nest.append(out.dims[d],
                {out.strides[d], d < lead ? indices.strides[d] : 0,
                 d < batch  ? data.strides[d]
                 : d < lead ? 0
                            : data.strides[d - lead + batch + tuple.size]});
  return host::dispatchSize(data.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if (nest.count == 0)
      return Status::ok();
    return launch(gatherTuplesKernel<T>, nest.grid(), streamOf(call),
                  out.as<T>(), data.as<T>(), host::IndexReader(indices), nest,
                  tuple, indexMayFail(call));
  });
}

const CudaKernelRegistration registrations[] = {
    {"GatherElements", {runGatherElements, nullptr}},
    {"GatherND", {runGatherND, nullptr}},
};

} // namespace
} // namespace shardc::runtime::cuda
