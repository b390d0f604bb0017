#include "runtime/program/LoadSpans.h"

#include "runtime/artifact/Instructions.h"

#include <algorithm>

namespace shardc::runtime {

std::vector<LoadSpan> loadSpans(const artifact::Program &program) {
  std::vector<LoadSpan> spans(program.buffers()->size());
  const uint32_t count = program.load()->size();
  for (uint32_t i = 0; i < count; ++i) {
    const artifact::Instruction &instruction = *program.load()->Get(i);
    const uint32_t end = flightOf(instruction) >= 0 ? count - 1 : i;
    for (const auto *views : {instruction.inputs(), instruction.outputs()})
      for (int32_t view : *views)
        if (view >= 0) {
          LoadSpan &span =
              spans[program.views()->Get(uint32_t(view))->buffer()];
          span.first = std::min(span.first, i);
          span.last = std::max(span.last, end);
        }
  }
  return spans;
}

} // namespace shardc::runtime
