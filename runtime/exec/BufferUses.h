//===- BufferUses.h - Which instructions touch which buffer ---------------===//
//
// Found once for each of a program's two lists, `load` and `run`; the arena is
// planned from it for each rank and shape. ProgramChecks.h has made sure that
// what the program itself claims covers these uses.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_EXEC_BUFFERUSES_H
#define SHARDC_RUNTIME_EXEC_BUFFERUSES_H

#include "runtime/artifact/Format.h"

#include <cstdint>
#include <vector>

namespace shardc::runtime {

enum class Phase { Load, Run };

using InstructionList =
    flatbuffers::Vector<flatbuffers::Offset<artifact::Instruction>>;

inline const InstructionList &instructionsOf(const artifact::Program &program,
                                             Phase phase) {
  return phase == Phase::Load ? *program.load() : *program.run();
}

struct ArenaBufferUse {
  uint32_t buffer;
  uint32_t first; ///< instruction
  uint32_t last;
};

/// The arena buffers of that phase. Those of outputs live until its end.
std::vector<ArenaBufferUse> findArenaUses(const artifact::Program &program,
                                          Phase phase);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXEC_BUFFERUSES_H
