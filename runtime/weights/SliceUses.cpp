#include "runtime/weights/SliceUses.h"

#include "runtime/artifact/Instructions.h"
#include "runtime/program/ViewResolver.h"
#include "runtime/weights/WeightLoader.h"

#include <algorithm>

namespace shardc::runtime {

std::vector<char> usedSlices(const artifact::Program &program) {
  std::vector<char> used(program.weights()->size() +
                         (program.joins() ? program.joins()->size() : 0));
  forEachUsed(program, [&](const artifact::Buffer &buffer) {
    if (weightOf(program, buffer))
      used[sliceOf(program, buffer)] = 1;
  });
  return used;
}

SliceUses findSliceUses(const artifact::Program &program, uint64_t firstStep) {
  SliceUses uses;
  const size_t count = usedSlices(program).size();
  uses.load.resize(count);
  uses.first.resize(count, SliceUses::kNever);
  uses.end = firstStep + numSteps(program);
  auto sliceAt = [&](int64_t view) -> int64_t {
    if (view < 0)
      return -1;
    const artifact::Buffer &buffer = *program.buffers()->Get(
        program.views()->Get(static_cast<uint32_t>(view))->buffer());
    return weightOf(program, buffer)
               ? static_cast<int64_t>(sliceOf(program, buffer))
               : -1;
  };
  auto read = [&](int64_t view, uint64_t step) {
    if (const int64_t slice = sliceAt(view); slice >= 0) {
      uint64_t &first = uses.first[static_cast<size_t>(slice)];
      first = std::min(first, step);
    }
  };
  for (const artifact::Instruction *instruction : *program.load())
    for (int32_t view : *instruction->inputs())
      if (const int64_t slice = sliceAt(view); slice >= 0)
        uses.load[static_cast<size_t>(slice)] = 1;
  for (uint32_t i = 0; i < program.run()->size(); ++i)
    for (int32_t view : *program.run()->Get(i)->inputs())
      read(view, firstStep + i);
  for (const artifact::Output *output : *program.outputs())
    read(output->view(), firstStep + program.run()->size());
  return uses;
}

} // namespace shardc::runtime
