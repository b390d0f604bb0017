//===- Pow.cu - Base and exponent may differ in type, on a GPU ------------===//
//
// The exponent's type is told apart by all threads alike: a kernel for each
// pair of types would be as fast and take minutes to compile. An exponent of 2
// or 3 multiplies, as on the host.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/elementwise/ElementwiseKernels.h"
#include "runtime/kernels/elementwise/PowFunctions.h"

namespace shardc::runtime::cuda {
namespace {

using namespace artifact;

constexpr char kName[] = "Pow";

template <typename T, typename E>
__device__ T raise(T base, const std::byte *exponents, int64_t at) {
  const auto exponent =
      host::Compute<E>(reinterpret_cast<const E *>(exponents)[at]);
  if constexpr (std::is_floating_point_v<T>) {
    if (exponent == decltype(exponent)(2))
      return base * base;
    if (exponent == decltype(exponent)(3))
      return base * base * base;
  }
  return host::power(base, exponent);
}

template <typename T>
__device__ T raiseBy(T base, const std::byte *exponents, ElementType element,
                     int64_t at) {
  switch (element) {
  case ElementType_Int8:
    return raise<T, int8_t>(base, exponents, at);
  case ElementType_UInt8:
    return raise<T, uint8_t>(base, exponents, at);
  case ElementType_Int16:
    return raise<T, int16_t>(base, exponents, at);
  case ElementType_UInt16:
    return raise<T, uint16_t>(base, exponents, at);
  case ElementType_Int32:
    return raise<T, int32_t>(base, exponents, at);
  case ElementType_UInt32:
    return raise<T, uint32_t>(base, exponents, at);
  case ElementType_Int64:
    return raise<T, int64_t>(base, exponents, at);
  case ElementType_UInt64:
    return raise<T, uint64_t>(base, exponents, at);
  case ElementType_Float16:
    return raise<T, host::Float16>(base, exponents, at);
  case ElementType_BFloat16:
    return raise<T, host::BFloat16>(base, exponents, at);
  case ElementType_Float32:
    return raise<T, float>(base, exponents, at);
  case ElementType_Float64:
    return raise<T, double>(base, exponents, at);
  default:
    return base; // run has refused it
  }
}

template <typename T>
__global__ void powKernel(T *out, const T *base, const std::byte *exponents,
                          ElementType element, Nest<3> nest) {
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[3];
    nest.offsets(i, at);
    out[at[0]] =
        T(raiseBy(host::Compute<T>(base[at[1]]), exponents, element, at[2]));
  }
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::expectOperands(call, kName, 2));
  const TensorView &base = call.inputs[0], &exponent = call.inputs[1];
  const TensorView &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(host::expectLike(kName, out, base));
  SHARDC_RETURN_IF_ERROR(host::expectDims(kName, out, exponent));
  SHARDC_RETURN_IF_ERROR(host::dispatch(host::PowExponentTypes(),
                                        exponent.element, kName, [](auto) {}));
  const auto nest = nestOf(out, base, exponent);
  return host::dispatch(
      host::PowBaseTypes(), base.element, kName, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        if (nest.count == 0)
          return Status::ok();
        return launch(powKernel<T>, nest.grid(), streamOf(call), out.as<T>(),
                      base.as<T>(), exponent.data, exponent.element, nest);
      });
}

const CudaKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::cuda
