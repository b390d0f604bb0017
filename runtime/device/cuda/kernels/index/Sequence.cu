//===- Sequence.cu - Range, Symbols and Trilu on a GPU --------------------===//
//
// Elements that follow from where they are.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/CallStream.h"
#include "runtime/device/cuda/kernels/layout/Nest.h"
#include "runtime/kernels/Dispatch.h"

#include <algorithm>

namespace shardc::runtime::cuda {
namespace {

/// Start and delta are on the GPU where there are such inputs.
template <typename T> struct Progression {
  const T *start, *delta;
  host::Compute<T> startOr, deltaOr;
};

template <typename T>
__global__ void rangeKernel(T *out, int64_t stride, int64_t count,
                            Progression<T> p) {
  using C = host::Compute<T>;
  const C start = p.start ? C(*p.start) : p.startOr;
  const C delta = p.delta ? C(*p.delta) : p.deltaOr;
  for (int64_t i = firstElement(); i < count; i += allThreads())
    out[i * stride] = T(C(start + C(i) * delta));
}

Status runRange(const KernelCall &call) {
  constexpr char name[] = "Range";
  SHARDC_RETURN_IF_ERROR(host::expectOperands(call, name, 0));
  const TensorView &out = call.outputs[0];
  const bool hasInputs = host::hasInput(call, 0) && host::hasInput(call, 1);
  if (out.rank != 1)
    return host::failure(name,
                         "expected one dim, found " + host::dimsToString(out));
  if (hasInputs)
    for (int i = 0; i < 2; ++i)
      SHARDC_RETURN_IF_ERROR(
          host::expectElement(name, out.element, call.inputs[i]));
  return host::dispatch(host::NumericTypes(), out.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using C = host::Compute<T>;
    if (out.dims[0] == 0)
      return Status::ok();
    const Progression<T> p = {hasInputs ? call.inputs[0].as<T>() : nullptr,
                              hasInputs ? call.inputs[1].as<T>() : nullptr,
                              C(call.intOr("start", 0)),
                              C(call.intOr("delta", 1))};
    return launch(rangeKernel<T>, {dim3(blocksFor(out.dims[0]))},
                  streamOf(call), out.as<T>(), out.strides[0], out.dims[0], p);
  });
}

/// As many as go with a launch; they are the host's, and may be gone after it.
struct SymbolValues {
  static constexpr int kMost = 64;
  int64_t values[kMost];
};

template <typename T>
__global__ void symbolsKernel(T *out, Nest<1> nest, int64_t first, int count,
                              SymbolValues symbols) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    int64_t at[1];
    nest.offsets(first + i, at);
    out[at[0]] = T(symbols.values[i]);
  }
}

Status runSymbols(const KernelCall &call) {
  constexpr char name[] = "Symbols";
  SHARDC_RETURN_IF_ERROR(host::expectOperands(call, name, 0));
  const TensorView &out = call.outputs[0];
  const KernelAttribute *values = call.find("values");
  const int64_t count = values ? values->numInts : 0;
  if (count != out.numElements())
    return host::failure(name, std::to_string(count) + " values for dims " +
                                   host::dimsToString(out));
  const auto nest = nestOf(out);
  return host::dispatch(host::IndexTypes(), out.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (int64_t first = 0; first < count; first += SymbolValues::kMost) {
      SymbolValues symbols;
      const int size = static_cast<int>(
          std::min<int64_t>(SymbolValues::kMost, count - first));
      std::copy_n(values->ints + first, size, symbols.values);
      SHARDC_RETURN_IF_ERROR(launch(symbolsKernel<T>, {dim3(1), 64},
                                    streamOf(call), out.as<T>(), nest, first,
                                    size, symbols));
    }
    return Status::ok();
  });
}

/// Strides: out, x, and counters of rows and columns.
template <typename T>
__global__ void triluKernel(T *out, const T *x, Nest<4> nest, int64_t k,
                            bool isUpper) {
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[4];
    nest.offsets(i, at);
    const int64_t diagonal = at[3] - at[2];
    const bool isKept = isUpper ? diagonal >= k : diagonal <= k;
    out[at[0]] = isKept ? x[at[1]] : T(0);
  }
}

Status runTrilu(const KernelCall &call) {
  constexpr char name[] = "Trilu";
  SHARDC_RETURN_IF_ERROR(host::expectAlike(call, name, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  if (x.rank < 2)
    return host::failure(name,
                         "expected matrices, found " + host::dimsToString(x));
  const int row = x.rank - 2;
  Nest<4> nest;
  for (int d = 0; d < x.rank; ++d)
    nest.append(x.dims[d],
                {out.strides[d], x.strides[d], d == row, d == row + 1});
  return host::dispatchSize(x.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if (nest.count == 0)
      return Status::ok();
    return launch(triluKernel<T>, nest.grid(), streamOf(call), out.as<T>(),
                  x.as<T>(), nest, call.intOr("k", 0),
                  call.intOr("upper", 1) != 0);
  });
}

const CudaKernelRegistration registrations[] = {
    {"Range", {runRange, nullptr}},
    {"Symbols", {runSymbols, nullptr}},
    {"Trilu", {runTrilu, nullptr}},
};

} // namespace
} // namespace shardc::runtime::cuda
