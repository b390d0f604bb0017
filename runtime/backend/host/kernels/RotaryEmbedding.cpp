//===- RotaryEmbedding.cpp - Rotate pairs of a head's elements ------------===//
//
// X [b, h, s, d]; cos and sin [b, s, r/2]. The first r elements of a head are
// pairs, (i, i + r/2) or, interleaved, (2i, 2i + 1); each is rotated by its
// angle. The other d - r are copied.
//
//===----------------------------------------------------------------------===//

#include "runtime/backend/host/kernels/Dispatch.h"
#include "runtime/backend/host/kernels/StridedLoop.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "RotaryEmbedding";

/// What the loop over a head needs to know, in elements.
struct Layout {
  int64_t pairs, size;
  int64_t pairStep, pairGap; ///< from pair to pair, and inside of one
  int64_t out, x, cos, sin;  ///< innermost strides
};

template <typename T>
void rotateHead(const Layout &l, T *out, const T *x, const T *cos,
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

/// A [b, s, r/2] table as seen from [b, h, s]: all heads share it.
TensorView perHead(const TensorView &table, int64_t heads) {
  TensorView view = table;
  view.rank = 3;
  view.dims[1] = heads;
  view.strides[1] = 0;
  view.dims[2] = table.dims[1];
  view.strides[2] = table.strides[1];
  return view;
}

Status check(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kName, 3));
  const TensorView &x = call.inputs[0], &cos = call.inputs[1];
  SHARDC_RETURN_IF_ERROR(expectLike(kName, call.outputs[0], x));
  SHARDC_RETURN_IF_ERROR(expectLike(kName, cos, call.inputs[2]));
  SHARDC_RETURN_IF_ERROR(expectElement(kName, x.element, cos));
  if (x.rank != 4 || cos.rank != 3 || cos.dims[0] != x.dims[0] ||
      cos.dims[1] != x.dims[2] || 2 * cos.dims[2] > x.dims[3])
    return failure(kName, "cos of dims " + dimsToString(cos) +
                              " does not fit X of dims " + dimsToString(x));
  return Status::ok();
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(check(call));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  const TensorView &cos = call.inputs[1], &sin = call.inputs[2];
  const bool interleaved = call.intOr("interleaved", 0) != 0;
  const int64_t pairs = cos.dims[2];
  const Layout layout = {pairs,
                         x.dims[3],
                         interleaved ? 2 : 1,
                         interleaved ? 1 : pairs,
                         out.strides[3],
                         x.strides[3],
                         cos.strides[2],
                         sin.strides[2]};
  const auto heads = nestOf(dimsOf(out, 0, 3), dimsOf(x, 0, 3),
                            perHead(cos, x.dims[1]), perHead(sin, x.dims[1]));
  return dispatch(FloatTypes(), x.element, kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    forEachIndex(heads, [&](const int64_t (&at)[4]) {
      rotateHead(layout, out.as<T>() + at[0], x.as<T>() + at[1],
                 cos.as<T>() + at[2], sin.as<T>() + at[3]);
    });
  });
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
