//===- Elementwise.h - Apply a function to every element ------------------===//
//
// Views have equal dims; broadcasting is a stride of 0. The output may be one
// of the inputs, element for element, which `ivdep` allows: no iteration reads
// what another one wrote. Nor does any part of them: these are on the threads of
// the rank.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_ELEMENTWISE_ELEMENTWISE_H
#define SHARDC_RUNTIME_KERNELS_HOST_ELEMENTWISE_ELEMENTWISE_H

#include "runtime/kernels/StorageTypes.h"
#include "runtime/kernels/host/ThreadedLoop.h"

#include <cstdint>

namespace shardc::runtime::host {

/// out = fn(x)
template <typename Out, typename In, typename Fn>
void mapUnary(const TensorView &out, const TensorView &x, Fn fn) {
  const auto nest = nestOf(out, x);
  const int64_t so = nest.innerStride(0), sx = nest.innerStride(1);
  forEachRowOnThreads(nest, [&](const int64_t (&at)[2], int64_t count) {
    Out *o = out.as<Out>() + at[0];
    const In *a = x.as<In>() + at[1];
    if (so == 1 && sx == 1) {
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i)
        o[i] = Out(fn(Compute<In>(a[i])));
    } else {
      for (int64_t i = 0; i < count; ++i)
        o[i * so] = Out(fn(Compute<In>(a[i * sx])));
    }
  });
}

/// out = fn(x, y)
template <typename Out, typename X, typename Y, typename Fn>
void mapBinary(const TensorView &out, const TensorView &x, const TensorView &y,
               Fn fn) {
  const auto nest = nestOf(out, x, y);
  const int64_t so = nest.innerStride(0), sx = nest.innerStride(1),
                sy = nest.innerStride(2);
  forEachRowOnThreads(nest, [&](const int64_t (&at)[3], int64_t count) {
    Out *o = out.as<Out>() + at[0];
    const X *a = x.as<X>() + at[1];
    const Y *b = y.as<Y>() + at[2];
    if (so == 1 && sx == 1 && sy == 1) {
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i)
        o[i] = Out(fn(Compute<X>(a[i]), Compute<Y>(b[i])));
    } else if (so == 1 && sx == 1 && sy == 0) {
      const Compute<Y> right(b[0]);
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i)
        o[i] = Out(fn(Compute<X>(a[i]), right));
    } else {
      for (int64_t i = 0; i < count; ++i)
        o[i * so] = Out(fn(Compute<X>(a[i * sx]), Compute<Y>(b[i * sy])));
    }
  });
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_ELEMENTWISE_ELEMENTWISE_H
