//===- Dispatch.h - From an element type to a C++ type --------------------===//
//
// Kernels are templates over the storage type; dispatch picks the instance:
//
//   return dispatch(FloatTypes(), x.element, "Relu", [&](auto tag) {
//     using T = typename decltype(tag)::Type;
//     ...
//   });
//
// An element type outside the list is an error that names kernel and type.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_DISPATCH_H
#define SHARDC_RUNTIME_KERNELS_DISPATCH_H

#include "runtime/artifact/ElementNames.h"
#include "runtime/base/Message.h"
#include "runtime/kernels/Check.h"
#include "runtime/kernels/StorageTypes.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace shardc::runtime::host {

template <typename... Ts> struct TypeList {};
template <typename T> struct Tag {
  using Type = T;
};

template <typename... As, typename... Bs>
constexpr TypeList<As..., Bs...> operator+(TypeList<As...>, TypeList<Bs...>) {
  return {};
}

using FloatTypes = TypeList<float, double, Float16, BFloat16>;
using IndexTypes = TypeList<int64_t, int32_t>;
using SignedTypes = TypeList<int64_t, int32_t, int16_t, int8_t>;
using UnsignedTypes = TypeList<uint64_t, uint32_t, uint16_t, uint8_t>;
using IntegerTypes = decltype(SignedTypes() + UnsignedTypes());
using NumericTypes = decltype(FloatTypes() + IntegerTypes());
using AllTypes = decltype(NumericTypes() + TypeList<Boolean>());

inline Status unsupported(std::string_view kernel, artifact::ElementType type) {
  return unsupportedError(kernel, ": no kernel for element type ",
                          artifact::elementName(type));
}

/// Calls `body` with the tag of `element`; it returns void or Status.
template <typename... Ts, typename Body>
Status dispatch(TypeList<Ts...>, artifact::ElementType element,
                std::string_view kernel, Body &&body) {
  Status status;
  const auto call = [&](auto tag) {
    if constexpr (std::is_void_v<decltype(body(tag))>)
      body(tag);
    else
      status = body(tag);
    return true;
  };
  const bool known =
      ((element == elementTypeOf<Ts>() && call(Tag<Ts>())) || ...);
  return known ? status : unsupported(kernel, element);
}

/// The bytes that `bytesOf` gives for the tag of `element`; 0 for a type
/// outside the list, which the kernel's run reports.
template <typename... Ts, typename BytesOf>
int64_t dispatchBytes(TypeList<Ts...> types, artifact::ElementType element,
                      std::string_view kernel, BytesOf &&bytesOf) {
  int64_t bytes = 0;
  const Status known =
      dispatch(types, element, kernel, [&](auto tag) { bytes = bytesOf(tag); });
  return known.isOk() ? bytes : 0;
}

/// For kernels that only move bits: an unsigned integer of the element's size.
template <typename Body>
Status dispatchSize(artifact::ElementType element, std::string_view kernel,
                    Body &&body) {
  using namespace artifact; // nvcc takes no using of its members here
  const int64_t bytes = elementBytes(element);
  const ElementType type = bytes == 1   ? ElementType_UInt8
                           : bytes == 2 ? ElementType_UInt16
                           : bytes == 4 ? ElementType_UInt32
                           : bytes == 8 ? ElementType_UInt64
                                        : element;
  return dispatch(UnsignedTypes(), type, kernel, body);
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_DISPATCH_H
