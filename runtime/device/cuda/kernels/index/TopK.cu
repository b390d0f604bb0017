//===- TopK.cu - TopK, ArgMax and ArgMin along one axis, on a GPU ---------===//
//
// A block a row. Up to 4 results are found one by one: each further one is the
// first, in the host's order, of those behind the one before. More are selected
// at once (TopKSelect.h), but for thousands, which nothing has room to sort.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/CallStream.h"
#include "runtime/device/cuda/kernels/index/TopKSelect.h"
#include "runtime/kernels/StridedLoop.h"
#include "runtime/kernels/reduce/TopKOrder.h"

namespace shardc::runtime::cuda {
namespace {

/// An element of a row; an index of -1 is none, which comes last.
template <typename C> struct Candidate {
  C value = 0;
  int64_t index = -1;
};

/// Strides: x, values, indices.
template <typename T>
__global__ void topKKernel(const T *x, T *values, int64_t *indices,
                           Nest<3> rows, TopKRow row) {
  using C = host::Compute<T>;
  const auto first = [row](const Candidate<C> &a, const Candidate<C> &b) {
    if (a.index < 0 || b.index < 0)
      return a.index < 0 ? b : a;
    return host::comesBefore(a.value, a.index, b.value, b.index, row.largest)
               ? a
               : b;
  };
  for (int64_t r = blockIdx.x; r < rows.count; r += gridDim.x) {
    int64_t at[3];
    rows.offsets(r, at);
    Candidate<C> last;
    for (int64_t i = 0; i < row.k; ++i) {
      Candidate<C> best;
      for (int64_t j = threadIdx.x; j < row.count; j += blockDim.x) {
        const Candidate<C> own = {C(x[at[0] + j * row.stride]), j};
        if (i == 0 || host::comesBefore(last.value, last.index, own.value, j,
                                        row.largest))
          best = first(best, own);
      }
      last = reduceBlock(best, first);
      if (threadIdx.x != 0)
        continue;
      values[at[1] + i * row.valueStride] =
          x[at[0] + last.index * row.stride]; // NaN keeps its bits
      indices[at[2] + i * row.indexStride] = last.index;
    }
  }
}

Status runTopK(const KernelCall &call) {
  constexpr char name[] = "TopK";
  int axis = 0;
  SHARDC_RETURN_IF_ERROR(host::checkTopK(call, name, axis));
  const TensorView &x = call.inputs[0];
  const TensorView &values = call.outputs[0], &indices = call.outputs[1];
  const TopKRow row = {x.dims[axis],          x.strides[axis],
                       values.dims[axis],     values.strides[axis],
                       indices.strides[axis], call.intOr("largest", 1) != 0};
  const auto rows =
      nestOf(host::withoutDim(x, axis), host::withoutDim(values, axis),
             host::withoutDim(indices, axis));
  return host::dispatch(host::NumericTypes(), x.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if (rows.count == 0 || row.k == 0)
      return Status::ok();
    if (isForSelect(row))
      return launch(selectKernel<T>, selectGrid<T>(rows.count, row),
                    streamOf(call), x.as<T>(), values.as<T>(),
                    indices.as<int64_t>(), rows, row);
    return launch(
        topKKernel<T>,
        blockPerRow<Candidate<host::Compute<T>>>(rows.count, row.count),
        streamOf(call), x.as<T>(), values.as<T>(), indices.as<int64_t>(), rows,
        row);
  });
}

struct SearchedRow {
  int64_t count, stride;
  bool isMax, isLast; ///< of equal ones the last
};

/// The first NaN wins over everything.
template <typename C>
__device__ bool wins(const Candidate<C> &a, const Candidate<C> &b,
                     const SearchedRow &row) {
  if (a.index < 0 || b.index < 0)
    return b.index < 0;
  const bool isNaN = a.value != a.value, otherIsNaN = b.value != b.value;
  if (isNaN || otherIsNaN)
    return isNaN && (!otherIsNaN || a.index < b.index);
  if (a.value != b.value)
    return (a.value > b.value) == row.isMax;
  return (a.index > b.index) == row.isLast;
}

/// Strides: out, x.
template <typename T>
__global__ void searchKernel(int64_t *out, const T *x, Nest<2> rows,
                             SearchedRow row) {
  using C = host::Compute<T>;
  const auto better = [row](const Candidate<C> &a, const Candidate<C> &b) {
    return wins(a, b, row) ? a : b;
  };
  for (int64_t r = blockIdx.x; r < rows.count; r += gridDim.x) {
    int64_t at[2];
    rows.offsets(r, at);
    Candidate<C> best;
    for (int64_t j = threadIdx.x; j < row.count; j += blockDim.x)
      best = better(best, {C(x[at[1] + j * row.stride]), j});
    best = reduceBlock(best, better);
    if (threadIdx.x == 0)
      out[at[0]] = best.index;
  }
}

template <bool isMax> Status runSearch(const KernelCall &call) {
  const char *name = isMax ? "ArgMax" : "ArgMin";
  int axis = 0;
  SHARDC_RETURN_IF_ERROR(host::checkArgMax(call, name, axis));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  const SearchedRow row = {x.dims[axis], x.strides[axis], isMax,
                           call.intOr("select_last_index", 0) != 0};
  const auto rows =
      nestOf(host::withoutDim(out, axis), host::withoutDim(x, axis));
  return host::dispatch(host::NumericTypes(), x.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if (rows.count == 0)
      return Status::ok();
    return launch(
        searchKernel<T>,
        blockPerRow<Candidate<host::Compute<T>>>(rows.count, row.count),
        streamOf(call), out.as<int64_t>(), x.as<T>(), rows, row);
  });
}

const CudaKernelRegistration registrations[] = {
    {"TopK", {runTopK, nullptr}},
    {"ArgMax", {runSearch<true>, nullptr}},
    {"ArgMin", {runSearch<false>, nullptr}},
};

} // namespace
} // namespace shardc::runtime::cuda
