//===- Segments.h - Stretches of a program whose sizes are known ----------===//
//
// A program waits for its own data where a size depends on them (read_sizes),
// or what comes next (if, loop). Between two such waits all sizes are known,
// and a stretch is planned as a whole; most programs are a single one:
//
//   run:  kernels ...  read_sizes  kernels ...  if  kernels ...  else  ...
//         [ segment 0 ]            [ segment 1  ]   [   segment 2   ]
//
// An arena buffer that only one segment touches is planned there. One that
// several touch, or that an output needs, is carried: it has memory of its own,
// and so has a cache.
// ProgramChecks.h has made sure that what the program itself claims of its
// buffers' lifetimes covers these uses.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_PROGRAM_SEGMENTS_H
#define SHARDC_RUNTIME_PROGRAM_SEGMENTS_H

#include "runtime/artifact/Instructions.h"

#include <cstdint>
#include <vector>

namespace shardc::runtime {

using InstructionList =
    flatbuffers::Vector<flatbuffers::Offset<artifact::Instruction>>;

struct ArenaBufferUse {
  uint32_t buffer;
  uint32_t first; ///< instruction
  uint32_t last;
};

struct Segment {
  uint32_t first = 0;                           ///< instruction
  uint32_t end = 0;                             ///< behind the last one
  HostInstruction ends = HostInstruction::None; ///< what the last one is
  uint32_t next = 0;      ///< segment that comes next; the program's end: none
  uint32_t otherwise = 0; ///< the same where its condition is false
  bool isLast = false;    ///< the outputs are there when it ends
  std::vector<ArenaBufferUse> arenaUses; ///< of buffers that are its own
  /// Symbols that its sizes depend on: it is planned again where they differ.
  std::vector<uint32_t> symbols;
};

struct Segments {
  std::vector<Segment> list; ///< never empty, in order
  std::vector<char> carried; ///< by buffer
  /// By buffer that is a segment's own: its place in arenaUses.
  std::vector<uint32_t> arenaPlace;

  /// All sizes follow from the inputs.
  bool isStatic() const { return list.size() == 1; }
};

/// Of `run`.
Segments findSegments(const artifact::Program &program);

/// `load` never waits: it is one segment.
Segments loadSegment(const artifact::Program &program);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_PROGRAM_SEGMENTS_H
