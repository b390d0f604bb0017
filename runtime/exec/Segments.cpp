#include "runtime/exec/Segments.h"

namespace shardc::runtime {
namespace {

/// Where an arena buffer is touched, in segments and instructions.
struct Touch {
  uint32_t firstSegment, lastSegment;
  uint32_t first, last;
};

class UseFinder {
public:
  UseFinder(const artifact::Program &program, Segments &segments)
      : program(program), segments(segments),
        place(program.buffers()->size(), -1) {
    segments.carried.assign(program.buffers()->size(), 0);
    segments.arenaPlace.assign(program.buffers()->size(), 0);
  }

  void visit(const InstructionList &list) {
    for (uint32_t s = 0; s < segments.list.size(); ++s)
      for (uint32_t i = segments.list[s].first; i < segments.list[s].end; ++i) {
        for (int32_t view : *list.Get(i)->inputs())
          touch(view, s, i);
        for (int32_t view : *list.Get(i)->outputs())
          touch(view, s, i);
      }
  }

  void visitOutputs() {
    const auto last = static_cast<uint32_t>(segments.list.size() - 1);
    for (const artifact::Output *output : *program.outputs())
      touch(static_cast<int32_t>(output->view()), last,
            segments.list.back().end);
  }

  void finish() {
    for (size_t i = 0; i < touches.size(); ++i) {
      const Touch &touch = touches[i];
      if (touch.firstSegment != touch.lastSegment) {
        segments.carried[buffers[i]] = 1;
        continue;
      }
      auto &uses = segments.list[touch.firstSegment].arenaUses;
      segments.arenaPlace[buffers[i]] = static_cast<uint32_t>(uses.size());
      uses.push_back({buffers[i], touch.first, touch.last});
    }
  }

private:
  void touch(int32_t view, uint32_t segment, uint32_t instruction) {
    if (view < 0)
      return;
    uint32_t buffer =
        program.views()->Get(static_cast<uint32_t>(view))->buffer();
    auto kind = program.buffers()->Get(buffer)->kind();
    if (kind == artifact::BufferKind_Cache)
      segments.carried[buffer] = 1;
    if (kind != artifact::BufferKind_Arena)
      return;
    if (place[buffer] < 0) {
      place[buffer] = static_cast<int64_t>(touches.size());
      touches.push_back({segment, segment, instruction, instruction});
      buffers.push_back(buffer);
    }
    Touch &known = touches[static_cast<size_t>(place[buffer])];
    known.lastSegment = segment;
    known.last = instruction;
  }

  const artifact::Program &program;
  Segments &segments;
  std::vector<int64_t> place; ///< by buffer, in touches
  std::vector<Touch> touches;
  std::vector<uint32_t> buffers; ///< parallel to touches
};

} // namespace

Segments findSegments(const artifact::Program &program) {
  Segments segments;
  segments.list.emplace_back();
  const InstructionList &list = *program.run();
  for (uint32_t i = 0; i < list.size(); ++i) {
    segments.list.back().end = i + 1;
    if (list.Get(i)->kernel()->string_view() != artifact::kReadSizes)
      continue;
    segments.list.back().reads = true;
    segments.list.push_back({i + 1, i + 1, false, false, {}});
  }
  segments.list.back().isLast = true;
  UseFinder finder(program, segments);
  finder.visit(list);
  finder.visitOutputs();
  finder.finish();
  return segments;
}

Segments loadSegment(const artifact::Program &program) {
  Segments segments;
  segments.list.push_back({0, program.load()->size(), false, false, {}});
  UseFinder finder(program, segments);
  finder.visit(*program.load());
  finder.finish();
  return segments;
}

} // namespace shardc::runtime
