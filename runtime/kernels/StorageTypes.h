//===- StorageTypes.h - C++ types for what tensors hold -------------------===//
//
// Half-precision values are stored in 16 bits and computed in float; a bool is
// a byte that may hold any non-zero pattern for true (a C++ bool may not).
// Compute<T> is the type that kernels calculate in.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_STORAGETYPES_H
#define SHARDC_RUNTIME_KERNELS_STORAGETYPES_H

#include "runtime/artifact/Format.h"
#include "runtime/base/Float16.h"

#include <cstdint>
#include <type_traits>

namespace shardc::runtime::host {

struct Float16 : Half {
  Float16() = default;
  SHARDC_HOST_DEVICE explicit Float16(float value) : Half(toHalf(value)) {}
  SHARDC_HOST_DEVICE operator float() const { return toFloat(*this); }
};

struct BFloat16 : BFloat {
  BFloat16() = default;
  SHARDC_HOST_DEVICE explicit BFloat16(float value) : BFloat(toBFloat(value)) {}
  SHARDC_HOST_DEVICE operator float() const { return toFloat(*this); }
};

struct Boolean {
  uint8_t byte = 0;

  Boolean() = default;
  SHARDC_HOST_DEVICE explicit Boolean(bool value) : byte(value) {}
  SHARDC_HOST_DEVICE operator bool() const { return byte != 0; }
};

template <typename T> struct ComputeOf {
  using Type = T;
};
template <> struct ComputeOf<Float16> {
  using Type = float;
};
template <> struct ComputeOf<BFloat16> {
  using Type = float;
};
template <> struct ComputeOf<Boolean> {
  using Type = bool;
};
template <typename T> using Compute = typename ComputeOf<T>::Type;

/// The element type that T stores.
template <typename T> constexpr artifact::ElementType elementTypeOf() {
  using namespace artifact;
  if constexpr (std::is_same_v<T, Boolean>)
    return ElementType_Bool;
  else if constexpr (std::is_same_v<T, Float16>)
    return ElementType_Float16;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return ElementType_BFloat16;
  else if constexpr (std::is_same_v<T, float>)
    return ElementType_Float32;
  else if constexpr (std::is_same_v<T, double>)
    return ElementType_Float64;
  else if constexpr (sizeof(T) == 1)
    return std::is_signed_v<T> ? ElementType_Int8 : ElementType_UInt8;
  else if constexpr (sizeof(T) == 2)
    return std::is_signed_v<T> ? ElementType_Int16 : ElementType_UInt16;
  else if constexpr (sizeof(T) == 4)
    return std::is_signed_v<T> ? ElementType_Int32 : ElementType_UInt32;
  else
    return std::is_signed_v<T> ? ElementType_Int64 : ElementType_UInt64;
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_STORAGETYPES_H
