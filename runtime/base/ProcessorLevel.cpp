//===- ProcessorLevel.cpp - Which instructions kernels may use ------------===//

#include "runtime/base/ProcessorLevel.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace shardc::runtime {
namespace {

struct Name {
  std::string_view text;
  ProcessorLevel level;
};

constexpr Name kNames[] = {{"baseline", ProcessorLevel::Baseline},
                           {"avx2", ProcessorLevel::Avx2},
                           {"avx-vnni", ProcessorLevel::AvxVnni},
                           {"avx512", ProcessorLevel::Avx512},
                           {"avx512-vnni", ProcessorLevel::Avx512Vnni},
                           {"avx512-bf16", ProcessorLevel::Avx512BFloat16},
                           {"amx", ProcessorLevel::Amx}};

ProcessorLevel highestLevel() {
  const char *text = std::getenv("SHARDC_PROCESSOR");
  if (!text || !*text)
    return ProcessorLevel::Amx;
  for (const Name &name : kNames)
    if (name.text == text)
      return name.level;
  std::fprintf(stderr,
               "warning: SHARDC_PROCESSOR=%s: expected baseline, avx2, "
               "avx-vnni, avx512, avx512-vnni, avx512-bf16 or amx\n",
               text);
  return ProcessorLevel::Amx;
}

bool isSupported(ProcessorLevel level) {
#ifdef __x86_64__
  __builtin_cpu_init();
  const bool hasAvx2 = __builtin_cpu_supports("avx2") &&
                       __builtin_cpu_supports("fma") &&
                       __builtin_cpu_supports("f16c");
  switch (level) {
  case ProcessorLevel::Baseline:
    return true;
  case ProcessorLevel::Avx2:
    return hasAvx2;
  case ProcessorLevel::AvxVnni:
    return hasAvx2 && __builtin_cpu_supports("avxvnni");
  case ProcessorLevel::Avx512:
    return hasAvx2 && __builtin_cpu_supports("avx512f");
  case ProcessorLevel::Avx512Vnni:
    return hasAvx2 && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512vnni");
  case ProcessorLevel::Avx512BFloat16:
  case ProcessorLevel::Amx:
    return __builtin_cpu_supports("avx512bf16") &&
           __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw");
  }
#endif
  return level == ProcessorLevel::Baseline;
}

} // namespace

bool mayUseLevel(ProcessorLevel level) {
  static const ProcessorLevel highest = highestLevel();
  return level <= highest;
}

bool hasLevel(ProcessorLevel level) {
  return mayUseLevel(level) && isSupported(level);
}

} // namespace shardc::runtime
