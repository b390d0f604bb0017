//===- Scatter.cu - ScatterElements and ScatterND on a GPU ----------------===//
//
// Updates of one element are combined in order, as on the host, so that equal
// inputs give equal bits: a thread does all that may meet. Of ScatterElements
// that is a line along the axis; of ScatterND one element of all slices, or,
// where the last one wins, what a first pass found to be the last.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/index/IndexTuple.h"
#include "runtime/device/cuda/kernels/layout/Nest.h"
#include "runtime/device/cuda/kernels/layout/StridedKernels.h"
#include "runtime/kernels/StridedLoop.h"
#include "runtime/kernels/index/IndexChecks.h"
#include "runtime/kernels/index/Scatter.h"

namespace shardc::runtime::cuda {
namespace {

using host::Reduction;

/// Strides along the axis.
struct ScatteredLine {
  int64_t count, size; ///< of updates, of the result
  int64_t indices, updates, out;
};

/// Strides: indices, updates, out, of all dims but the axis.
template <typename T>
__global__ void scatterElementsKernel(T *out, const T *updates,
                                      host::IndexReader indices, Nest<3> lines,
                                      ScatteredLine line, Reduction reduction,
                                      Fault fault) {
  for (int64_t i = firstElement(); i < lines.count; i += allThreads()) {
    int64_t at[3];
    lines.offsets(i, at);
    for (int64_t j = 0; j < line.count; ++j) {
      const int64_t index =
          indices.wrapped(at[0] + j * line.indices, line.size);
      if (index < 0 || index >= line.size) {
        report(fault);
        continue;
      }
      T &element = out[at[2] + index * line.out];
      element =
          host::combine(reduction, element, updates[at[1] + j * line.updates]);
    }
  }
}

template <typename Body>
Status dispatchCombined(Reduction reduction, artifact::ElementType element,
                        const char *name, Body body) {
  return reduction == Reduction::None
             ? host::dispatchSize(element, name, body)
             : host::dispatch(host::NumericTypes(), element, name, body);
}

Status runScatterElements(const KernelCall &call) {
  constexpr char name[] = "ScatterElements";
  int axis = 0;
  Reduction reduction = Reduction::None;
  SHARDC_RETURN_IF_ERROR(host::checkScatterElements(call, name, axis));
  SHARDC_RETURN_IF_ERROR(host::readReduction(call, name, reduction));
  const TensorView &data = call.inputs[0], &indices = call.inputs[1];
  const TensorView &updates = call.inputs[2], &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(copyStrided(out, data, streamOf(call)));
  const auto lines =
      nestOf(host::withoutDim(indices, axis), host::withoutDim(updates, axis),
             host::withoutDim(out, axis));
  const ScatteredLine line = {indices.dims[axis], out.dims[axis],
                              indices.strides[axis], updates.strides[axis],
                              out.strides[axis]};
  return dispatchCombined(reduction, data.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if (lines.count == 0 || line.count == 0)
      return Status::ok();
    return launch(scatterElementsKernel<T>, lines.grid(), streamOf(call),
                  out.as<T>(), updates.as<T>(), host::IndexReader(indices),
                  lines, line, reduction, indexMayFail(call));
  });
}

/// Strides of `picks`: indices, updates. Of `slice`: out,
/// updates.
struct ScatteredSlices {
  Nest<2> picks;
  Nest<2> slice;
  IndexTuple tuple;
};

template <typename T>
__global__ void
combineSlicesKernel(T *out, const T *updates, host::IndexReader indices,
                    ScatteredSlices s, Reduction reduction, Fault fault) {
  for (int64_t e = firstElement(); e < s.slice.count; e += allThreads()) {
    int64_t inSlice[2];
    s.slice.offsets(e, inSlice);
    for (int64_t i = 0; i < s.picks.count; ++i) {
      int64_t at[2], target = inSlice[0];
      s.picks.offsets(i, at);
      if (!s.tuple.addOffset(indices, at[0], target)) {
        report(fault);
        continue;
      }
      out[target] =
          host::combine(reduction, out[target], updates[at[1] + inSlice[1]]);
    }
  }
}

/// Number of the slice of the result that a tuple stands for, -1 if none.
__device__ int64_t targetOf(const ScatteredSlices &s,
                            const host::IndexReader &indices, int64_t at) {
  int64_t target = 0;
  for (int i = 0; i < s.tuple.size; ++i) {
    const int64_t size = s.tuple.dims[i];
    const int64_t index = indices.wrapped(at + i * s.tuple.gap, size);
    if (index < 0 || index >= size)
      return -1;
    target = target * size + index;
  }
  return target;
}

/// Leaves the largest number, from 1, of a pick for each slice of the result.
__global__ void findLastKernel(unsigned long long *last,
                               host::IndexReader indices, ScatteredSlices s,
                               Fault fault) {
  for (int64_t i = firstElement(); i < s.picks.count; i += allThreads()) {
    int64_t at[2];
    s.picks.offsets(i, at);
    const int64_t target = targetOf(s, indices, at[0]);
    if (target < 0)
      report(fault);
    else
      atomicMax(last + target, static_cast<unsigned long long>(i + 1));
  }
}

template <typename T>
__global__ void writeLastKernel(T *out, const T *updates,
                                const unsigned long long *last,
                                host::IndexReader indices, ScatteredSlices s) {
  for (int64_t e = firstElement(); e < s.picks.count * s.slice.count;
       e += allThreads()) {
    int64_t at[2], inSlice[2];
    const int64_t pick = e / s.slice.count;
    s.picks.offsets(pick, at);
    const int64_t target = targetOf(s, indices, at[0]);
    if (target < 0 || last[target] != static_cast<unsigned long long>(pick + 1))
      continue;
    s.slice.offsets(e % s.slice.count, inSlice);
    int64_t to = inSlice[0];
    s.tuple.addOffset(indices, at[0], to);
    out[to] = updates[at[1] + inSlice[1]];
  }
}

/// Slices of the result.
int64_t targetsOf(const KernelCall &call) {
  const TensorView &indices = call.inputs[1];
  return host::dimsOf(call.outputs[0], 0,
                      static_cast<int>(indices.dims[indices.rank - 1]))
      .numElements();
}

ScatteredSlices slicesOf(const KernelCall &call) {
  const TensorView &indices = call.inputs[1], &updates = call.inputs[2];
  const TensorView &out = call.outputs[0];
  const int lead = indices.rank - 1;
  ScatteredSlices s{{}, {}, IndexTuple(indices, out, 0)};
  for (int d = 0; d < lead; ++d)
    s.picks.append(indices.dims[d], {indices.strides[d], updates.strides[d]});
  s.slice = nestOf(host::dimsOf(out, s.tuple.size, out.rank),
                   host::dimsOf(updates, lead, updates.rank));
  return s;
}

Status writeLast(const KernelCall &call, const ScatteredSlices &s) {
  const TensorView &updates = call.inputs[2], &out = call.outputs[0];
  cudaStream_t stream = streamOf(call);
  const host::IndexReader indices(call.inputs[1]);
  auto *last = reinterpret_cast<unsigned long long *>(call.scratch);
  TensorView cleared;
  cleared.data = call.scratch;
  cleared.element = artifact::ElementType_UInt64;
  cleared.rank = 1;
  cleared.dims[0] = targetsOf(call);
  cleared.strides[0] = 1;
  SHARDC_RETURN_IF_ERROR(clearStrided(cleared, stream));
  SHARDC_RETURN_IF_ERROR(launch(findLastKernel, s.picks.grid(), stream, last,
                                indices, s, indexMayFail(call)));
  return host::dispatchSize(out.element, "ScatterND", [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return launch(writeLastKernel<T>,
                  {dim3(blocksFor(s.picks.count * s.slice.count))}, stream,
                  out.as<T>(), updates.as<T>(), last, indices, s);
  });
}

Status runScatterND(const KernelCall &call) {
  constexpr char name[] = "ScatterND";
  Reduction reduction = Reduction::None;
  SHARDC_RETURN_IF_ERROR(host::checkScatterND(call, name));
  SHARDC_RETURN_IF_ERROR(host::readReduction(call, name, reduction));
  const TensorView &data = call.inputs[0], &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(copyStrided(out, data, streamOf(call)));
  const ScatteredSlices s = slicesOf(call);
  if (s.picks.count * s.slice.count == 0)
    return Status::ok();
  if (reduction == Reduction::None)
    return writeLast(call, s);
  return host::dispatch(
      host::NumericTypes(), data.element, name, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        return launch(combineSlicesKernel<T>, s.slice.grid(), streamOf(call),
                      out.as<T>(), call.inputs[2].as<T>(),
                      host::IndexReader(call.inputs[1]), s, reduction,
                      indexMayFail(call));
      });
}

int64_t scratchBytes(const KernelCall &call) {
  Reduction reduction = Reduction::None;
  const bool isKnown = host::checkScatterND(call, "ScatterND").isOk() &&
                       host::readReduction(call, "ScatterND", reduction).isOk();
  return isKnown && reduction == Reduction::None // run reports it
             ? targetsOf(call) *
                   static_cast<int64_t>(sizeof(unsigned long long))
             : 0;
}

const CudaKernelRegistration registrations[] = {
    {"ScatterElements", {runScatterElements, nullptr}},
    {"ScatterND", {runScatterND, scratchBytes}},
};

} // namespace
} // namespace shardc::runtime::cuda
