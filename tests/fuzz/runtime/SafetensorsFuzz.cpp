//===- SafetensorsFuzz.cpp - Any bytes as copied weights ------------------===//
#include "runtime/artifact/Safetensors.h"

#include <cstdlib>
#include <numeric>

/// What the entries point to is inside.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace shardc::runtime;
  std::map<std::string, SafetensorsEntry> entries;
  if (!parseSafetensors("fuzz", std::as_bytes(std::span(data, size)), entries)
           .isOk())
    return 0;
  int sum = 0;
  for (const auto &[name, entry] : entries)
    for (std::byte byte : entry.bytes)
      sum += std::to_integer<int>(byte);
  static volatile int read;
  read = sum;
  return 0;
}
