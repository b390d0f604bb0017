//===- NonZero.cu - Indices of the elements that are not 0 ----------------===//
//
// Elements are cut into runs of neighbours. A thread counts those of a run,
// one block adds up what is before each run, and a thread writes a run's
// columns from there: in the order of the elements.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/Fault.h"
#include "runtime/device/cuda/kernels/layout/Nest.h"
#include "runtime/kernels/Dispatch.h"

namespace shardc::runtime::cuda {
namespace {

constexpr char kName[] = "NonZero";
constexpr int64_t kLeastRun = 16, kMostRuns = 1 << 16;

struct NonZeroRuns {
  int64_t *columns; ///< of each run: how many, then from where on
  int64_t runs, size;
};

NonZeroRuns runsFor(int64_t count, std::byte *scratch) {
  const int64_t runs =
      std::clamp<int64_t>((count + kLeastRun - 1) / kLeastRun, 1, kMostRuns);
  return {reinterpret_cast<int64_t *>(scratch), runs,
          (count + runs - 1) / runs};
}

/// Calls visit(index) for the elements of a run that are not 0: that have a
/// bit of `mask`.
template <typename T, typename Visit>
__device__ void forNonZeros(const T *x, T mask, const Nest<1> &nest,
                            const NonZeroRuns &runs, int64_t run, Visit visit) {
  for (int64_t i = run * runs.size; i < (run + 1) * runs.size && i < nest.count;
       ++i) {
    int64_t at[1];
    nest.offsets(i, at);
    if ((x[at[0]] & mask) != 0)
      visit(i);
  }
}

template <typename T>
__global__ void countKernel(const T *x, T mask, NonZeroRuns runs,
                            Nest<1> nest) {
  for (int64_t run = firstElement(); run < runs.runs; run += allThreads()) {
    int64_t found = 0;
    forNonZeros(x, mask, nest, runs, run, [&](int64_t) { ++found; });
    runs.columns[run] = found;
  }
}

/// One block; a thread has neighbouring runs.
__global__ void addKernel(NonZeroRuns runs, int64_t expected, Fault fault) {
  auto *sums = reinterpret_cast<int64_t *>(sharedMemory());
  const int64_t each = (runs.runs + kThreads - 1) / kThreads;
  const int64_t begin = each * threadIdx.x;
  const int64_t end = begin + each < runs.runs ? begin + each : runs.runs;
  int64_t sum = 0;
  for (int64_t run = begin; run < end; ++run)
    sum += runs.columns[run];
  sums[threadIdx.x] = sum;
  __syncthreads();
  int64_t column = 0;
  for (unsigned t = 0; t < threadIdx.x; ++t)
    column += sums[t];
  if (threadIdx.x == kThreads - 1 && column + sum != expected)
    report(fault);
  for (int64_t run = begin; run < end; ++run) {
    const int64_t found = runs.columns[run];
    runs.columns[run] = column;
    column += found;
  }
}

struct NonZeroResult {
  int64_t *out;
  int64_t strides[2], columns;
  int rank;
  int64_t dims[kMaxRank];
};

template <typename T>
__global__ void writeKernel(const T *x, T mask, NonZeroRuns runs, Nest<1> nest,
                            const __grid_constant__ NonZeroResult to) {
  for (int64_t run = firstElement(); run < runs.runs; run += allThreads()) {
    int64_t column = runs.columns[run];
    forNonZeros(x, mask, nest, runs, run, [&](int64_t index) {
      if (column < to.columns)
        for (int d = to.rank - 1; d >= 0; --d) {
          to.out[d * to.strides[0] + column * to.strides[1]] =
              index % to.dims[d];
          index /= to.dims[d];
        }
      ++column;
    });
  }
}

bool isFloat(artifact::ElementType element) {
  return host::dispatch(host::FloatTypes(), element, kName, [](auto) {}).isOk();
}

/// out: [rank of x, as many columns as x has elements that are not 0]
Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::expectOperands(call, kName, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(
      host::expectElement(kName, artifact::ElementType_Int64, out));
  if (out.rank != 2 || out.dims[0] != x.rank)
    return host::failure(kName, "has a result of " + host::dimsToString(out));
  SHARDC_RETURN_IF_ERROR(
      host::dispatch(host::AllTypes(), x.element, kName, [](auto) {}));
  const auto nest = nestOf(x);
  const NonZeroRuns runs = runsFor(nest.count, call.scratch);
  NonZeroResult to = {out.as<int64_t>(),
                      {out.strides[0], out.strides[1]},
                      out.dims[1],
                      x.rank,
                      {}};
  std::copy_n(x.dims, x.rank, to.dims);
  const Fault fault =
      mayFail(call, "there are more or less elements that are not 0 than the "
                    "result has columns");
  const cudaStream_t stream = streamOf(call);
  const Grid grid = {dim3(blocksFor(runs.runs))};
  return host::dispatchSize(x.element, kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    // The sign of a float's 0 does not count.
    const T mask = isFloat(x.element) ? T(T(~T(0)) >> 1) : T(~T(0));
    SHARDC_RETURN_IF_ERROR(
        launch(countKernel<T>, grid, stream, x.as<T>(), mask, runs, nest));
    SHARDC_RETURN_IF_ERROR(
        launch(addKernel, {dim3(1), kThreads, kThreads * sizeof(int64_t), true},
               stream, runs, to.columns, fault));
    return launch(writeKernel<T>, grid, stream, x.as<T>(), mask, runs, nest,
                  to);
  });
}

int64_t scratchBytes(const KernelCall &call) {
  return host::hasInput(call, 0)
             ? runsFor(call.inputs[0].numElements(), nullptr).runs *
                   static_cast<int64_t>(sizeof(int64_t))
             : 0;
}

const CudaKernelRegistration registration(kName, {run, scratchBytes});

} // namespace
} // namespace shardc::runtime::cuda
