//===- CastFloat8.cpp - Casts from and to eight bits of float -------------===//
//
// Both ways go by double, which holds every value of the other types that
// matters: a byte is decoded by table, a number is rounded once.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/elementwise/CastFloat8.h"

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/host/elementwise/Elementwise.h"

#include <array>

namespace shardc::runtime::host {
static std::array<float, 256> valuesOf(const Float8Codec &codec) {
  std::array<float, 256> values;
  for (int byte = 0; byte < 256; ++byte)
    values[byte] = static_cast<float>(codec.decode(static_cast<uint8_t>(byte)));
  return values;
}

Status castFloat8(const KernelCall &call, const char *kernel) {
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  Float8Codec from, to;
  const bool isToFloat8 = findFloat8(out.element, to);
  SHARDC_RETURN_IF_ERROR(readRounding(call, kernel, to));
  if (findFloat8(x.element, from)) {
    const std::array<float, 256> values = valuesOf(from);
    if (isToFloat8) {
      mapUnary<uint8_t, uint8_t>(
          out, x, [&](uint8_t byte) { return to.encode(values[byte]); });
      return Status::ok();
    }
    return dispatch(AllTypes(), out.element, kernel, [&](auto tag) {
      using T = typename decltype(tag)::Type;
      mapUnary<T, uint8_t>(out, x, [&](uint8_t byte) {
        using C = Compute<T>;
        if constexpr (std::is_same_v<C, bool>)
          return values[byte] != 0;
        else if constexpr (std::is_integral_v<C> && sizeof(C) < 8)
          return C(static_cast<int64_t>(values[byte]));
        else
          return C(values[byte]);
      });
    });
  }
  return dispatch(AllTypes(), x.element, kernel, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    mapUnary<uint8_t, T>(out, x, [&](Compute<T> value) {
      return to.encode(static_cast<double>(value));
    });
  });
}

} // namespace shardc::runtime::host
