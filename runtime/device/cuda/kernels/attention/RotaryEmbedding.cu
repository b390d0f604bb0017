//===- RotaryEmbedding.cu - Rotate pairs of a head's elements, on a GPU ---===//
//
// See the host's. A thread has a pair, or an element behind all pairs, so that
// the result may take the place of X.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/CallStream.h"
#include "runtime/device/cuda/kernels/layout/Nest.h"
#include "runtime/kernels/attention/RotaryLayout.h"

namespace shardc::runtime::cuda {
namespace {

constexpr char kName[] = "RotaryEmbedding";

/// Strides: out, x, cos, sin.
template <typename T>
__global__ void rotaryKernel(T *out, const T *x, const T *cos, const T *sin,
                             Nest<4> heads, host::RotaryLayout l) {
  using C = host::Compute<T>;
  const int64_t items = l.size - l.pairs; // of a head
  for (int64_t i = firstElement(); i < heads.count * items; i += allThreads()) {
    int64_t at[4];
    heads.offsets(i / items, at);
    const int64_t item = i % items;
    T *to = out + at[0];
    const T *from = x + at[1];
    if (item >= l.pairs) {
      const int64_t e = item + l.pairs;
      to[e * l.out] = from[e * l.x];
      continue;
    }
    const C c(cos[at[2] + item * l.cos]), s(sin[at[3] + item * l.sin]);
    const int64_t first = item * l.pairStep, second = first + l.pairGap;
    const C x1(from[first * l.x]), x2(from[second * l.x]);
    to[first * l.out] = T(c * x1 - s * x2);
    to[second * l.out] = T(s * x1 + c * x2);
  }
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::checkRotary(call, kName));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  const TensorView cos = host::perHead(call.inputs[1], x.dims[1]);
  const TensorView sin = host::perHead(call.inputs[2], x.dims[1]);
  const auto heads =
      nestOf(host::dimsOf(out, 0, 3), host::dimsOf(x, 0, 3), cos, sin);
  const host::RotaryLayout layout = host::rotaryLayoutOf(call);
  return host::dispatch(host::FloatTypes(), x.element, kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if (heads.count == 0 || layout.size == 0)
      return Status::ok();
    return launch(rotaryKernel<T>,
                  {dim3(blocksFor(heads.count * (layout.size - layout.pairs)))},
                  streamOf(call), out.as<T>(), x.as<T>(), cos.as<T>(),
                  sin.as<T>(), heads, layout);
  });
}

const CudaKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::cuda
