#include "runtime/exec/BufferUses.h"

namespace shardc::runtime {

std::vector<ArenaBufferUse> findArenaUses(const artifact::Program &program,
                                          Phase phase) {
  const InstructionList &list = instructionsOf(program, phase);
  std::vector<ArenaBufferUse> uses;
  std::vector<int64_t> place(program.buffers()->size(), -1);
  auto touch = [&](int32_t view, uint32_t instruction) {
    if (view < 0)
      return;
    uint32_t buffer =
        program.views()->Get(static_cast<uint32_t>(view))->buffer();
    if (program.buffers()->Get(buffer)->kind() != artifact::BufferKind_Arena)
      return;
    if (place[buffer] < 0) {
      place[buffer] = static_cast<int64_t>(uses.size());
      uses.push_back({buffer, instruction, instruction});
    }
    uses[static_cast<size_t>(place[buffer])].last = instruction;
  };
  for (uint32_t i = 0; i < list.size(); ++i) {
    for (int32_t view : *list.Get(i)->inputs())
      touch(view, i);
    for (int32_t view : *list.Get(i)->outputs())
      touch(view, i);
  }
  if (phase == Phase::Run)
    for (const artifact::Output *output : *program.outputs())
      touch(static_cast<int32_t>(output->view()), list.size());
  return uses;
}

} // namespace shardc::runtime
