//===- QuantizeLinear.cu - round(x / scale) + zero point, clamped ---------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/CallStream.h"
#include "runtime/device/cuda/kernels/quant/QuantizedDevice.h"

namespace shardc::runtime::cuda {
namespace {

constexpr char kName[] = "QuantizeLinear";

using QuantizedTypes = host::TypeList<int8_t, uint8_t, int16_t, uint16_t>;

template <typename Q, typename X>
__global__ void quantizeKernel(Q *out, const X *x, const X *scale,
                               const Q *zeros, QuantizedBlocks blocks,
                               Nest<5> nest) {
  using C = host::Compute<X>;
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[5];
    nest.offsets(i, at);
    const int64_t block = blocks.blockOf(at[4]);
    const C zero = zeros ? C(zeros[at[3] + block * blocks.zeroStride]) : C(0);
    out[at[0]] = host::quantizeOne<Q>(
        C(x[at[1]]), C(scale[at[2] + block * blocks.scaleStride]), zero);
  }
}

Status run(const KernelCall &call) {
  host::QuantizedViews views;
  SHARDC_RETURN_IF_ERROR(host::readQuantized(call, kName, views));
  SHARDC_RETURN_IF_ERROR(
      host::expectElement(kName, views.data.element, views.scale));
  if (views.hasZeroPoint)
    SHARDC_RETURN_IF_ERROR(
        host::expectElement(kName, views.result.element, views.zeroPoint));
  QuantizedBlocks blocks;
  SHARDC_RETURN_IF_ERROR(blocks.read(call, kName, views));
  const Nest<5> nest = nestOfQuantized(views, denseDim(views.result));
  return host::dispatch(
      host::FloatTypes(), views.data.element, kName, [&](auto from) {
        using X = typename decltype(from)::Type;
        return host::dispatch(
            QuantizedTypes(), views.result.element, kName, [&](auto q) {
              using Q = typename decltype(q)::Type;
              if (nest.count == 0)
                return Status::ok();
              return launch(
                  quantizeKernel<Q, X>, nest.grid(), streamOf(call),
                  views.result.as<Q>(), views.data.as<X>(), views.scale.as<X>(),
                  views.hasZeroPoint ? views.zeroPoint.as<Q>() : nullptr,
                  blocks, nest);
            });
      });
}

const CudaKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::cuda
