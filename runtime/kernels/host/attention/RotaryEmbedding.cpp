//===- RotaryEmbedding.cpp - Rotate pairs of a head's elements ------------===//
//
// X [b, h, s, d]; cos and sin [b, s, r/2]. The first r elements of a head are
// pairs, (i, i + r/2) or, interleaved, (2i, 2i + 1); each is rotated by its
// angle. The other d - r are copied.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/attention/RotaryLayout.h"
#include "runtime/kernels/host/ThreadedLoop.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "RotaryEmbedding";

template <typename T>
void rotateHead(const RotaryLayout &l, T *out, const T *x, const T *cos,
                const T *sin) {
  using C = Compute<T>;
  const auto rotate = [&](int64_t i, int64_t step, int64_t so, int64_t sx,
                          int64_t sc, int64_t ss) {
    const C c(cos[i * sc]), s(sin[i * ss]);
    const int64_t first = i * step, second = first + l.pairGap;
    const C x1(x[first * sx]), x2(x[second * sx]);
    out[first * so] = T(c * x1 - s * x2);
    out[second * so] = T(s * x1 + c * x2);
  };
  if (l.pairStep == 1 && l.out == 1 && l.x == 1 && l.cos == 1 && l.sin == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < l.pairs; ++i)
      rotate(i, 1, 1, 1, 1, 1);
  } else {
    for (int64_t i = 0; i < l.pairs; ++i)
      rotate(i, l.pairStep, l.out, l.x, l.cos, l.sin);
  }
  for (int64_t i = 2 * l.pairs; i < l.size; ++i)
    out[i * l.out] = x[i * l.x];
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(checkRotary(call, kName));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  const TensorView &cos = call.inputs[1], &sin = call.inputs[2];
  const RotaryLayout layout = rotaryLayoutOf(call);
  const auto heads = nestOf(dimsOf(out, 0, 3), dimsOf(x, 0, 3),
                            perHead(cos, x.dims[1]), perHead(sin, x.dims[1]));
  return dispatch(FloatTypes(), x.element, kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    forEachIndexOnThreads(heads, layout.size, [&](const int64_t (&at)[4]) {
      rotateHead(layout, out.as<T>() + at[0], x.as<T>() + at[1],
                 cos.as<T>() + at[2], sin.as<T>() + at[3]);
    });
  });
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
