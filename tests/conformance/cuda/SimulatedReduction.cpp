//===- SimulatedReduction.cpp - What operations of NCCL compute -----------===//
//
// Elements are reduced in the order of ranks, and rounded at each, as on a
// ring; all ranks get the same bits.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/cuda/SimulatedMeeting.h"

#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace shardc::testing {
namespace {

template <typename Body> bool withType(ncclDataType_t type, Body body) {
  switch (type) {
  case ncclInt8:
    return body(int8_t()), true;
  case ncclUint8:
    return body(uint8_t()), true;
  case ncclInt32:
    return body(int32_t()), true;
  case ncclUint32:
    return body(uint32_t()), true;
  case ncclInt64:
    return body(int64_t()), true;
  case ncclUint64:
    return body(uint64_t()), true;
  case ncclFloat16:
    return body(__half()), true;
  case ncclBfloat16:
    return body(__nv_bfloat16()), true;
  case ncclFloat32:
    return body(float()), true;
  case ncclFloat64:
    return body(double()), true;
  default:
    return false;
  }
}

template <typename T> T combine(T x, T y, ncclRedOp_t operation) {
  if (operation == ncclMax)
    return x > y ? x : y;
  if (operation == ncclMin)
    return x < y ? x : y;
  if constexpr (std::is_integral_v<T>) // wraps around
    return static_cast<T>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
  else
    return x + y;
}
__half combine(__half x, __half y, ncclRedOp_t operation) {
  return __float2half(combine(__half2float(x), __half2float(y), operation));
}
__nv_bfloat16 combine(__nv_bfloat16 x, __nv_bfloat16 y, ncclRedOp_t operation) {
  return __float2bfloat16(
      combine(__bfloat162float(x), __bfloat162float(y), operation));
}

/// Elements [first, first + count) of all ranks, into out.
template <typename T>
void reduce(const std::vector<SimulatedPart> &parts, size_t first, T *out) {
  for (size_t i = 0; i < parts[0].count; ++i) {
    auto at = [&](const SimulatedPart &part) {
      return static_cast<const T *>(part.input)[first + i];
    };
    T value = at(parts[0]);
    for (size_t rank = 1; rank < parts.size(); ++rank)
      value = combine(value, at(parts[rank]), parts[0].operation);
    out[i] = value;
  }
}

} // namespace

size_t simulatedBytes(ncclDataType_t type) {
  size_t bytes = 0;
  withType(type, [&](auto element) { bytes = sizeof element; });
  return bytes;
}

void performMeeting(const std::vector<SimulatedPart> &parts) {
  const SimulatedPart &first = parts[0];
  const size_t count = first.count, bytes = count * simulatedBytes(first.type);
  withType(first.type, [&](auto element) {
    using T = decltype(element);
    switch (first.kind) {
    case MeetingKind::AllReduce: {
      std::vector<T> result(count); // outputs may be inputs
      reduce(parts, 0, result.data());
      for (const SimulatedPart &part : parts)
        std::memcpy(part.output, result.data(), bytes);
      return;
    }
    case MeetingKind::ReduceScatter: {
      std::vector<T> result(count * parts.size());
      for (size_t rank = 0; rank < parts.size(); ++rank)
        reduce(parts, rank * count, result.data() + rank * count);
      for (size_t rank = 0; rank < parts.size(); ++rank)
        std::memcpy(parts[rank].output, result.data() + rank * count, bytes);
      return;
    }
    case MeetingKind::AllGather:
      for (const SimulatedPart &part : parts)
        for (size_t rank = 0; rank < parts.size(); ++rank)
          std::memmove(static_cast<std::byte *>(part.output) + rank * bytes,
                       parts[rank].input, bytes);
      return;
    case MeetingKind::Broadcast:
      for (const SimulatedPart &part : parts)
        std::memmove(part.output, parts[static_cast<size_t>(first.root)].input,
                     bytes);
      return;
    case MeetingKind::Send:
      std::memmove(parts[1].output, first.input, bytes);
      return;
    }
  });
}

} // namespace shardc::testing
