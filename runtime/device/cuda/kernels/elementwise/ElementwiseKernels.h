//===- ElementwiseKernels.h - Apply a function to every element -----------===//
//
// Functions are those of the host's kernels (host/kernels/BinaryFunctions.h and
// its neighbours). Views have equal dims; broadcasting is a stride of 0. A
// kernel for each function and type:
//
//   return launchUnary<T, T>(call, out, x, host::Exp());
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ELEMENTWISE_ELEMENTWISEKERNELS_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ELEMENTWISE_ELEMENTWISEKERNELS_H

#include "runtime/device/cuda/kernels/Fault.h"
#include "runtime/device/cuda/kernels/layout/Nest.h"
#include "runtime/kernels/StorageTypes.h"

namespace shardc::runtime::cuda {

template <typename Out, typename X, typename Fn>
__global__ void unaryKernel(Out *out, const X *x, Nest<2> nest, Fn fn) {
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[2];
    nest.offsets(i, at);
    out[at[0]] = Out(fn(host::Compute<X>(x[at[1]])));
  }
}

/// A function that finds a division by zero has a place to say so.
template <typename Out, typename X, typename Y, typename Fn>
__global__ void binaryKernel(Out *out, const X *x, const Y *y, Nest<3> nest,
                             Fn fn, Fault fault) {
  bool isBad = false;
  if constexpr (requires { fn.byZero; })
    fn.byZero = &isBad;
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[3];
    nest.offsets(i, at);
    out[at[0]] =
        Out(fn(host::Compute<X>(x[at[1]]), host::Compute<Y>(y[at[2]])));
  }
  if (isBad)
    report(fault);
}

/// out = fn(x)
template <typename Out, typename X, typename Fn>
Status launchUnary(const KernelCall &call, const TensorView &out,
                   const TensorView &x, const Fn &fn) {
  const auto nest = nestOf(out, x);
  return nest.count == 0
             ? Status::ok()
             : launch(unaryKernel<Out, X, Fn>, nest.grid(), streamOf(call),
                      out.as<Out>(), x.as<X>(), nest, fn);
}

/// out = fn(x, y)
template <typename Out, typename X, typename Y, typename Fn>
Status launchBinary(const KernelCall &call, const TensorView &out,
                    const TensorView &x, const TensorView &y, const Fn &fn) {
  const auto nest = nestOf(out, x, y);
  if (nest.count == 0)
    return Status::ok();
  Fault fault;
  if constexpr (requires { fn.byZero; })
    if (std::is_integral_v<X>)
      fault = mayFail(call, "integer division by zero",
                      StatusCode::InvalidArgument);
  return launch(binaryKernel<Out, X, Y, Fn>, nest.grid(), streamOf(call),
                out.as<Out>(), x.as<X>(), y.as<Y>(), nest, fn, fault);
}

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ELEMENTWISE_ELEMENTWISEKERNELS_H
