//===- Cast.cu - Conversion between element types on a GPU ----------------===//
//
// Floats truncate towards zero, anything but 0 is true. Eight bits of float go
// by double, as on the host.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Message.h"
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/CallStream.h"
#include "runtime/device/cuda/kernels/layout/Nest.h"
#include "runtime/device/cuda/kernels/layout/StridedKernels.h"
#include "runtime/kernels/elementwise/CastFloat8.h"
#include "runtime/kernels/elementwise/FloatToInteger.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace shardc::runtime::cuda {
namespace {

using namespace artifact;

constexpr char kName[] = "Cast";

/// What a stored value is computed as; halves as float.
template <typename T> __device__ T load(T x) { return x; }
__device__ float load(__half x) { return __half2float(x); }
__device__ float load(__nv_bfloat16 x) { return __bfloat162float(x); }

template <typename To> struct Convert {
  template <typename From> __device__ static To from(From x) {
    if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>)
      return host::truncate<To>(x);
    else
      return static_cast<To>(x);
  }
};
template <> struct Convert<bool> {
  template <typename From> __device__ static bool from(From x) {
    return x != From(0);
  }
};
template <> struct Convert<__half> {
  template <typename From> __device__ static __half from(From x) {
    // Of a double in one step: two would round twice.
    if constexpr (std::is_same_v<From, double>)
      return __double2half(x);
    else
      return __float2half(static_cast<float>(x));
  }
};
template <> struct Convert<__nv_bfloat16> {
  template <typename From> __device__ static __nv_bfloat16 from(From x) {
    if constexpr (std::is_same_v<From, double>)
      return __double2bfloat16(x);
    else
      return __float2bfloat16(static_cast<float>(x));
  }
};

template <typename To, typename From>
__device__ void storeAs(std::byte *to, int64_t at, From x) {
  reinterpret_cast<To *>(to)[at] = Convert<To>::from(x);
}

/// The result's type is told apart here, alike for all threads: a kernel for
/// each pair would be as fast and take minutes to compile.
template <typename From>
__device__ void store(std::byte *to, ElementType element, int64_t at, From x) {
  switch (element) {
  case ElementType_Bool:
    return storeAs<bool>(to, at, x);
  case ElementType_Int8:
    return storeAs<int8_t>(to, at, x);
  case ElementType_UInt8:
    return storeAs<uint8_t>(to, at, x);
  case ElementType_Int16:
    return storeAs<int16_t>(to, at, x);
  case ElementType_UInt16:
    return storeAs<uint16_t>(to, at, x);
  case ElementType_Int32:
    return storeAs<int32_t>(to, at, x);
  case ElementType_UInt32:
    return storeAs<uint32_t>(to, at, x);
  case ElementType_Int64:
    return storeAs<int64_t>(to, at, x);
  case ElementType_UInt64:
    return storeAs<uint64_t>(to, at, x);
  case ElementType_Float16:
    return storeAs<__half>(to, at, x);
  case ElementType_BFloat16:
    return storeAs<__nv_bfloat16>(to, at, x);
  case ElementType_Float32:
    return storeAs<float>(to, at, x);
  case ElementType_Float64:
    return storeAs<double>(to, at, x);
  default:
    return; // castStrided has refused it
  }
}

template <typename From>
__global__ void castKernel(std::byte *to, ElementType element, const From *from,
                           Nest<2> nest) {
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[2];
    nest.offsets(i, at);
    store(to, element, at[0], load(from[at[1]]));
  }
}

template <typename T> struct Tag {
  using Type = T;
};

template <typename Body> Status withType(ElementType element, Body body) {
  switch (element) {
  case ElementType_Bool:
    return body(Tag<bool>());
  case ElementType_Int8:
    return body(Tag<int8_t>());
  case ElementType_UInt8:
    return body(Tag<uint8_t>());
  case ElementType_Int16:
    return body(Tag<int16_t>());
  case ElementType_UInt16:
    return body(Tag<uint16_t>());
  case ElementType_Int32:
    return body(Tag<int32_t>());
  case ElementType_UInt32:
    return body(Tag<uint32_t>());
  case ElementType_Int64:
    return body(Tag<int64_t>());
  case ElementType_UInt64:
    return body(Tag<uint64_t>());
  case ElementType_Float16:
    return body(Tag<__half>());
  case ElementType_BFloat16:
    return body(Tag<__nv_bfloat16>());
  case ElementType_Float32:
    return body(Tag<float>());
  case ElementType_Float64:
    return body(Tag<double>());
  default:
    return unsupportedError("the GPU cannot cast ",
                            EnumNameElementType(element));
  }
}

Status castStrided(const TensorView &to, const TensorView &from,
                   cudaStream_t stream) {
  const auto nest = nestOf(to, from);
  SHARDC_RETURN_IF_ERROR(
      withType(to.element, [](auto) { return Status::ok(); }));
  return withType(from.element, [&](auto tag) {
    using From = typename decltype(tag)::Type;
    if (nest.count == 0)
      return Status::ok();
    return launch(castKernel<From>, nest.grid(), stream, to.data, to.element,
                  from.as<From>(), nest);
  });
}

//===----------------------------------------------------------------------===//
// Eight bits of float
//===----------------------------------------------------------------------===//

/// Of a NaN, too, whose sign is lost when its type changes.
template <typename T> __device__ bool isNegative(T x) {
  if constexpr (std::is_same_v<T, __half>)
    return __half_as_ushort(x) & 0x8000;
  else if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return __bfloat16_as_ushort(x) & 0x8000;
  else if constexpr (std::is_floating_point_v<T>)
    return std::signbit(x);
  else if constexpr (std::is_unsigned_v<T>)
    return false;
  else
    return x < T(0);
}

template <typename From>
__global__ void encodeKernel(uint8_t *to, host::Float8Codec codec,
                             const From *from, Nest<2> nest) {
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[2];
    nest.offsets(i, at);
    const From x = from[at[1]];
    to[at[0]] = codec.encode(static_cast<double>(load(x)), isNegative(x));
  }
}

__global__ void decodeKernel(std::byte *to, ElementType element,
                             const uint8_t *from, host::Float8Codec codec,
                             Nest<2> nest) {
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[2];
    nest.offsets(i, at);
    store(to, element, at[0], static_cast<float>(codec.decode(from[at[1]])));
  }
}

__global__ void recodeKernel(uint8_t *to, host::Float8Codec codec,
                             const uint8_t *from, host::Float8Codec fromCodec,
                             Nest<2> nest) {
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[2];
    nest.offsets(i, at);
    const uint8_t x = from[at[1]];
    to[at[0]] = codec.encode(fromCodec.decode(x), fromCodec.isNegative(x));
  }
}

Status castFloat8(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  host::Float8Codec from, to;
  const bool decodes = host::findFloat8(x.element, from);
  const bool encodes = host::findFloat8(out.element, to);
  SHARDC_RETURN_IF_ERROR(host::readRounding(call, kName, to));
  const auto nest = nestOf(out, x);
  const cudaStream_t stream = streamOf(call);
  if (decodes && !encodes)
    return withType(out.element, [&](auto) {
      return nest.count == 0
                 ? Status::ok()
                 : launch(decodeKernel, nest.grid(), stream, out.data,
                          out.element, x.as<uint8_t>(), from, nest);
    });
  if (decodes)
    return nest.count == 0
               ? Status::ok()
               : launch(recodeKernel, nest.grid(), stream, out.as<uint8_t>(),
                        to, x.as<uint8_t>(), from, nest);
  return withType(x.element, [&](auto tag) {
    using From = typename decltype(tag)::Type;
    return nest.count == 0 ? Status::ok()
                           : launch(encodeKernel<From>, nest.grid(), stream,
                                    out.as<uint8_t>(), to, x.as<From>(), nest);
  });
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::expectOperands(call, kName, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(host::expectDims(kName, out, x));
  if (x.element == out.element)
    return copyStrided(out, x, streamOf(call));
  return host::isFloat8(x.element) || host::isFloat8(out.element)
             ? castFloat8(call)
             : castStrided(out, x, streamOf(call));
}

const CudaKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::cuda
