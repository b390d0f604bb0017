#include "runtime/device/cuda/kernels/product/Float8Product.h"

#include "runtime/device/cuda/kernels/layout/Nest.h"
#include "runtime/kernels/Dispatch.h"

namespace shardc::runtime::cuda {
namespace {

using Scaled = host::TypeList<float, host::Float16, host::BFloat16>;

/// One thread.
template <typename T>
__global__ void readKernel(float *to, const T *scaleA, const T *scaleB) {
  to[0] = *scaleA;
  to[1] = *scaleB;
}

template <typename T>
__global__ void scaleKernel(T *c, const float *product, const T *scaleA,
                            const T *scaleB,
                            const __grid_constant__ Nest<3> nest) {
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[3];
    nest.offsets(i, at);
    c[at[0]] = T(product[i] * (float(scaleA[at[1]]) * float(scaleB[at[2]])));
  }
}

} // namespace

Status readScales(const TensorView &scaleA, const TensorView &scaleB, float *to,
                  cudaStream_t stream) {
  return host::dispatch(Scaled(), scaleA.element, "MatMulFloat8",
                        [&](auto tag) {
                          using T = typename decltype(tag)::Type;
                          return launch(readKernel<T>, {dim3(1), 1}, stream, to,
                                        scaleA.as<T>(), scaleB.as<T>());
                        });
}

Status scaleProduct(const TensorView &c, const float *product,
                    const TensorView &scaleA, const TensorView &scaleB,
                    cudaStream_t stream) {
  const Nest<3> nest = nestOf(c, scaleA, scaleB);
  return host::dispatch(Scaled(), c.element, "MatMulFloat8", [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return launch(scaleKernel<T>, nest.grid(), stream, c.as<T>(), product,
                  scaleA.as<T>(), scaleB.as<T>(), nest);
  });
}

} // namespace shardc::runtime::cuda
