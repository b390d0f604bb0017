//===- Pad.cu - Constant, reflected, edge or wrapped borders, on a GPU ----===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/CallStream.h"
#include "runtime/device/cuda/kernels/layout/Nest.h"
#include "runtime/kernels/layout/PadSource.h"

namespace shardc::runtime::cuda {
namespace {

constexpr char kName[] = "Pad";

/// All dims: those of the result do not merge, as borders lie between them.
struct PaddedDims {
  int rank;
  int64_t count;
  int64_t sizes[kMaxRank], outSizes[kMaxRank], begins[kMaxRank];
  int64_t strides[kMaxRank], outStrides[kMaxRank];
  host::PadMode mode;
};

/// `value` may be null: 0. So may x be, of no elements.
template <typename T>
__global__ void padKernel(T *out, const T *x, const T *value, PaddedDims p) {
  for (int64_t i = firstElement(); i < p.count; i += allThreads()) {
    int64_t to = 0, from = 0, rest = i;
    bool isInside = x != nullptr;
    for (int d = p.rank - 1; d >= 0; --d) {
      const int64_t index = rest % p.outSizes[d];
      rest /= p.outSizes[d];
      to += index * p.outStrides[d];
      const int64_t source =
          isInside ? host::sourceOf(p.mode, index - p.begins[d], p.sizes[d])
                   : host::kOutside;
      isInside = source != host::kOutside;
      from += isInside ? source * p.strides[d] : 0;
    }
    out[to] = isInside ? x[from] : value ? *value : T(0);
  }
}

Status run(const KernelCall &call) {
  PaddedDims p = {};
  SHARDC_RETURN_IF_ERROR(host::readPadding(call, kName, p.mode));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  p.rank = x.rank;
  p.count = out.numElements();
  for (int d = 0; d < x.rank; ++d) {
    p.sizes[d] = x.dims[d];
    p.outSizes[d] = out.dims[d];
    p.begins[d] = call.find("pads")->ints[d];
    p.strides[d] = x.strides[d];
    p.outStrides[d] = out.strides[d];
  }
  return host::dispatchSize(x.element, kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if (p.count == 0)
      return Status::ok();
    const T *value = host::hasInput(call, 1) ? call.inputs[1].as<T>() : nullptr;
    return launch(padKernel<T>, {dim3(blocksFor(p.count))}, streamOf(call),
                  out.as<T>(), x.numElements() > 0 ? x.as<T>() : nullptr, value,
                  p);
  });
}

const CudaKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::cuda
