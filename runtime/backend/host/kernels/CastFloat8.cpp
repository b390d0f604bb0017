//===- CastFloat8.cpp - Casts from and to eight bits of float -------------===//
//
// Both ways go by double, which holds every value of the other types that
// matters: a byte is decoded by table, a number is rounded once.
//
//===----------------------------------------------------------------------===//

#include "runtime/backend/host/kernels/CastFloat8.h"

#include "runtime/backend/host/kernels/Dispatch.h"
#include "runtime/backend/host/kernels/Elementwise.h"
#include "runtime/base/Float8.h"

#include <array>

namespace shardc::runtime::host {
namespace {

using artifact::ElementType;

const Float8Format *formatOf(ElementType type) {
  switch (type) {
  case artifact::ElementType_Float8E4M3FN:
    return &kFloat8E4M3FN;
  case artifact::ElementType_Float8E4M3FNUZ:
    return &kFloat8E4M3FNUZ;
  case artifact::ElementType_Float8E5M2:
    return &kFloat8E5M2;
  case artifact::ElementType_Float8E5M2FNUZ:
    return &kFloat8E5M2FNUZ;
  default:
    return nullptr; // E8M0
  }
}

std::array<float, 256> valuesOf(ElementType type) {
  const Float8Format *format = formatOf(type);
  std::array<float, 256> values;
  for (int byte = 0; byte < 256; ++byte)
    values[byte] = static_cast<float>(
        format ? decodeFloat8(*format, static_cast<uint8_t>(byte))
               : decodeFloat8E8M0(static_cast<uint8_t>(byte)));
  return values;
}

struct Encoder {
  const Float8Format *format;
  bool saturate;
  ExponentRounding rounding;

  uint8_t operator()(double x) const {
    return format ? encodeFloat8(*format, x, saturate)
                  : encodeFloat8E8M0(x, saturate, rounding);
  }
};

Status encoderOf(const KernelCall &call, const char *kernel, Encoder &encoder) {
  const KernelAttribute *mode = call.find("round_mode");
  const std::string_view text = mode ? mode->text : "up";
  if (text != "up" && text != "down" && text != "nearest")
    return failure(kernel, "unknown round_mode '" + std::string(text) + "'");
  encoder = {formatOf(call.outputs[0].element), call.intOr("saturate", 1) != 0,
             text == "up"     ? ExponentRounding::Up
             : text == "down" ? ExponentRounding::Down
                              : ExponentRounding::Nearest};
  return Status::ok();
}

} // namespace

bool isFloat8(ElementType type) {
  return formatOf(type) || type == artifact::ElementType_Float8E8M0;
}

Status castFloat8(const KernelCall &call, const char *kernel) {
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  Encoder encode;
  SHARDC_RETURN_IF_ERROR(encoderOf(call, kernel, encode));
  if (isFloat8(x.element)) {
    const std::array<float, 256> values = valuesOf(x.element);
    if (isFloat8(out.element)) {
      mapUnary<uint8_t, uint8_t>(
          out, x, [&](uint8_t byte) { return encode(values[byte]); });
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
      return encode(static_cast<double>(value));
    });
  });
}

} // namespace shardc::runtime::host
