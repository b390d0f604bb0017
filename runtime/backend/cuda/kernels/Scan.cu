//===- Scan.cu - CumSum and CumProd along one axis, on a GPU --------------===//
//
// A thread a line, in order, as the host: the sum of floats depends on it.
//
//===----------------------------------------------------------------------===//
#include "runtime/backend/cuda/CudaKernels.h"
#include "runtime/backend/cuda/kernels/CallStream.h"
#include "runtime/backend/cuda/kernels/Nest.h"
#include "runtime/backend/host/kernels/BinaryFunctions.h"
#include "runtime/backend/host/kernels/StridedLoop.h"

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
