//===- ProcessorLevel.h - Which instructions kernels may use --------------===//
//
// What the processor has, and SHARDC_PROCESSOR leaves: `avx2` has a machine with
// AVX-512 compute as one without, for who compares machines, or tests. Levels
// count up, so that `avx512` leaves AVX-VNNI, too. oneDNN has a variable of its
// own, ONEDNN_MAX_CPU_ISA.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_PROCESSORLEVEL_H
#define SHARDC_RUNTIME_BASE_PROCESSORLEVEL_H

#include <cstdint>

namespace shardc::runtime {

enum class ProcessorLevel : uint8_t {
  Baseline,
  Avx2, ///< with FMA and F16C
  AvxVnni,
  Avx512,     ///< F alone
  Avx512Vnni, ///< also for tables of bytes (VBMI), where a processor has them
  Avx512BFloat16, ///< with VL and BW
  Amx             ///< whose kinds of tiles are another question
};

/// Decided once in a process.
bool hasLevel(ProcessorLevel level);

/// Whether SHARDC_PROCESSOR leaves what stands at that level.
bool mayUseLevel(ProcessorLevel level);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BASE_PROCESSORLEVEL_H
