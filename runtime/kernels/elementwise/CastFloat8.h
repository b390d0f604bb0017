//===- CastFloat8.h - Casts from and to eight bits of float ---------------===//
#ifndef SHARDC_RUNTIME_KERNELS_ELEMENTWISE_CASTFLOAT8_H
#define SHARDC_RUNTIME_KERNELS_ELEMENTWISE_CASTFLOAT8_H

#include "runtime/base/Float8.h"
#include "runtime/kernels/Check.h"

namespace shardc::runtime::host {

/// Bytes of one of the types, as doubles and back. A value, so that kernels on
/// GPUs take one, too.
struct Float8Codec {
  Float8Format format = kFloat8E4M3FN;
  bool isExponent = false; ///< E8M0, which has no format
  bool saturate = true;
  ExponentRounding rounding = ExponentRounding::Up;

  SHARDC_HOST_DEVICE double decode(uint8_t byte) const {
    return isExponent ? decodeFloat8E8M0(byte) : decodeFloat8(format, byte);
  }
  /// Of NaN, too, unless that has none.
  SHARDC_HOST_DEVICE bool isNegative(uint8_t byte) const {
    return !isExponent && byte & 0x80 &&
           (format.hasNegativeZero || byte != format.nan);
  }
  SHARDC_HOST_DEVICE uint8_t encode(double x, bool isNegative) const {
    return isExponent ? encodeFloat8E8M0(x, saturate, rounding)
                      : encodeFloat8(format, x, isNegative, saturate);
  }
  SHARDC_HOST_DEVICE uint8_t encode(double x) const {
    return encode(x, std::signbit(x));
  }
};

/// Whether the type is one of them; if so, its codec.
inline bool findFloat8(artifact::ElementType type, Float8Codec &codec) {
  switch (type) {
  case artifact::ElementType_Float8E4M3FN:
    codec.format = kFloat8E4M3FN;
    return true;
  case artifact::ElementType_Float8E4M3FNUZ:
    codec.format = kFloat8E4M3FNUZ;
    return true;
  case artifact::ElementType_Float8E5M2:
    codec.format = kFloat8E5M2;
    return true;
  case artifact::ElementType_Float8E5M2FNUZ:
    codec.format = kFloat8E5M2FNUZ;
    return true;
  case artifact::ElementType_Float8E8M0:
    codec.isExponent = true;
    return true;
  default:
    return false;
  }
}

inline bool isFloat8(artifact::ElementType type) {
  Float8Codec codec;
  return findFloat8(type, codec);
}

/// Reads attributes `saturate` (default 1) and, to E8M0, `round_mode` (up, down
/// or nearest).
inline Status readRounding(const KernelCall &call, const char *kernel,
                           Float8Codec &codec) {
  const KernelAttribute *mode = call.find("round_mode");
  const std::string_view text = mode ? mode->text : "up";
  if (text != "up" && text != "down" && text != "nearest")
    return failure(kernel, "unknown round_mode '" + std::string(text) + "'");
  codec.saturate = call.intOr("saturate", 1) != 0;
  codec.rounding = text == "up"     ? ExponentRounding::Up
                   : text == "down" ? ExponentRounding::Down
                                    : ExponentRounding::Nearest;
  return Status::ok();
}

/// Casts where one type or both are eight bits of float.
Status castFloat8(const KernelCall &call, const char *kernel);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_ELEMENTWISE_CASTFLOAT8_H
