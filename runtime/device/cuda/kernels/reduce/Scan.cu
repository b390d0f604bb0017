//===- Scan.cu - CumSum and CumProd along one axis, on a GPU --------------===//
//
// A thread a line, in order, as the host: the sum of floats depends on it. That
// of integers does not, so that a block takes a long line, as that of a
// prompt's positions.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/CallStream.h"
#include "runtime/device/cuda/kernels/layout/Nest.h"
#include "runtime/kernels/StridedLoop.h"
#include "runtime/kernels/elementwise/BinaryFunctions.h"

namespace shardc::runtime::cuda {
namespace {

struct Line {
  int64_t count, outStride, stride;
  bool isExclusive;
};

template <typename Op, typename T>
__global__ void scanKernel(T *out, const T *x, Nest<2> lines, Line line) {
  using C = host::Compute<T>;
  for (int64_t i = firstElement(); i < lines.count; i += allThreads()) {
    int64_t at[2];
    lines.offsets(i, at);
    C total(std::is_same_v<Op, host::Mul> ? 1 : 0);
    for (int64_t j = 0; j < line.count; ++j) {
      const C before = total;
      total = Op()(total, C(x[at[1] + j * line.stride]));
      out[at[0] + j * line.outStride] = T(line.isExclusive ? before : total);
    }
  }
}

/// A block a line, as many elements at once as it has threads: values[i]
/// becomes those of i and all before it, over distances of 1, 2, 4, ...
template <typename Op, typename T>
__global__ void scanBlockKernel(T *out, const T *x, Nest<2> lines, Line line) {
  using C = host::Compute<T>;
  const C none(std::is_same_v<Op, host::Mul> ? 1 : 0);
  C *values = reinterpret_cast<C *>(sharedMemory());
  const unsigned mine = threadIdx.x;
  for (int64_t i = blockIdx.x; i < lines.count; i += gridDim.x) {
    int64_t at[2];
    lines.offsets(i, at);
    C total = none;
    for (int64_t first = 0; first < line.count; first += blockDim.x) {
      const int64_t j = first + mine;
      __syncthreads(); // what was there before has been read
      values[mine] = j < line.count ? C(x[at[1] + j * line.stride]) : none;
      __syncthreads();
      for (unsigned step = 1; step < blockDim.x; step *= 2) {
        const C before = mine >= step ? values[mine - step] : none;
        __syncthreads();
        values[mine] = Op()(before, values[mine]);
        __syncthreads();
      }
      const C before = mine > 0 ? values[mine - 1] : none;
      if (j < line.count)
        out[at[0] + j * line.outStride] =
            T(Op()(total, line.isExclusive ? before : values[mine]));
      total = Op()(total, values[blockDim.x - 1]);
    }
  }
}

/// Lines that are long for a thread, and too few for all threads to have one.
bool takesBlocks(int64_t lines, int64_t length) {
  return length > 32 && lines < 4096;
}

template <typename Op> Status run(const KernelCall &call) {
  const char *name = std::is_same_v<Op, host::Mul> ? "CumProd" : "CumSum";
  SHARDC_RETURN_IF_ERROR(host::expectAlike(call, name, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  int axis = 0;
  SHARDC_RETURN_IF_ERROR(host::readAxis(call, name, x.rank, axis));
  Line line = {x.dims[axis], out.strides[axis], x.strides[axis],
               call.intOr("exclusive", 0) != 0};
  int64_t first = 0, firstOut = 0;
  if (call.intOr("reverse", 0) != 0 && line.count > 0) {
    first = (line.count - 1) * line.stride;
    firstOut = (line.count - 1) * line.outStride;
    line.stride = -line.stride;
    line.outStride = -line.outStride;
  }
  const auto lines =
      nestOf(host::withoutDim(out, axis), host::withoutDim(x, axis));
  return host::dispatch(host::NumericTypes(), x.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if (lines.count == 0)
      return Status::ok();
    using C = host::Compute<T>;
    if (std::is_integral_v<C> && takesBlocks(lines.count, line.count))
      return launch(scanBlockKernel<Op, T>,
                    {dim3(static_cast<unsigned>(lines.count)), kThreads,
                     kThreads * sizeof(C), true},
                    streamOf(call), out.as<T>() + firstOut, x.as<T>() + first,
                    lines, line);
    return launch(scanKernel<Op, T>, lines.grid(), streamOf(call),
                  out.as<T>() + firstOut, x.as<T>() + first, lines, line);
  });
}

const CudaKernelRegistration registrations[] = {
    {"CumSum", {run<host::Add>, nullptr}},
    {"CumProd", {run<host::Mul>, nullptr}},
};

} // namespace
} // namespace shardc::runtime::cuda
