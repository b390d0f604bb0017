//===- LoadSpans.h - How long the load-time program needs a buffer --------===//
#ifndef SHARDC_RUNTIME_PROGRAM_LOADSPANS_H
#define SHARDC_RUNTIME_PROGRAM_LOADSPANS_H

#include "runtime/artifact/Format.h"

#include <cstdint>
#include <vector>

namespace shardc::runtime {

/// Instructions of the load-time program, from the first to the last one that uses a
/// buffer.
struct LoadSpan {
  uint32_t first = UINT32_MAX; ///< none does
  uint32_t last = 0;
};

/// By buffer. What is in flight lands at some time, so that its span ends with the
/// program.
std::vector<LoadSpan> loadSpans(const artifact::Program &program);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_PROGRAM_LOADSPANS_H
