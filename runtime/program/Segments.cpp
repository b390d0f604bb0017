#include "runtime/program/Segments.h"

#include <algorithm>
#include <utility>

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

/// Collects the symbols that sizes of a segment depend on.
class SymbolFinder {
public:
  explicit SymbolFinder(const artifact::Program &program)
      : program(program), seen(program.scalars()->size()) {}

  std::vector<uint32_t> find(const Segment &segment) {
    std::fill(seen.begin(), seen.end(), 0);
    symbols.clear();
    for (uint32_t i = segment.first; i < segment.end; ++i)
      visit(*program.run()->Get(i));
    if (segment.isLast)
      for (const artifact::Output *output : *program.outputs()) {
        visitView(static_cast<int32_t>(output->view()));
        for (uint32_t dim : *output->dims())
          visit(dim);
        visitLayouts(output->layout());
      }
    std::sort(symbols.begin(), symbols.end());
    symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
    return symbols;
  }

private:
  void visit(uint32_t index) {
    if (std::exchange(seen[index], 1))
      return;
    const artifact::Scalar *scalar = program.scalars()->Get(index);
    if (scalar->op() == artifact::ScalarOp_Symbol)
      symbols.push_back(static_cast<uint32_t>(scalar->value()));
    if (scalar->op() < artifact::ScalarOp_Add)
      return;
    visit(static_cast<uint32_t>(scalar->lhs()));
    visit(static_cast<uint32_t>(scalar->rhs()));
  }

  void visitView(int32_t number) {
    if (number < 0)
      return;
    const artifact::View *view =
        program.views()->Get(static_cast<uint32_t>(number));
    visit(view->offset());
    visit(program.buffers()->Get(view->buffer())->bytes());
    for (uint32_t d = 0; d < view->dims()->size(); ++d) {
      visit(view->dims()->Get(d));
      visit(view->strides()->Get(d));
    }
  }

  template <typename Layouts> void visitLayouts(const Layouts *layouts) {
    for (const artifact::DimLayout *layout : *layouts)
      for (const artifact::SegmentLayout *segment : *layout->segments())
        for (const artifact::FactorLayout *factor : *segment->factors()) {
          visit(factor->size());
          if (factor->ways() > 1)
            visit(factor->index());
        }
  }

  void visit(const artifact::Instruction &instruction) {
    for (int32_t view : *instruction.inputs())
      visitView(view);
    for (int32_t view : *instruction.outputs())
      visitView(view);
    if (!instruction.attributes())
      return;
    for (const artifact::Attribute *attribute : *instruction.attributes()) {
      if (attribute->scalars())
        for (uint32_t scalar : *attribute->scalars())
          visit(scalar);
      if (attribute->layout())
        visitLayouts(attribute->layout());
    }
  }

  const artifact::Program &program;
  std::vector<char> seen; ///< by scalar
  std::vector<uint32_t> symbols;
};

HostInstruction kindOf(const InstructionList &list, uint32_t index) {
  return hostInstruction(list.Get(index)->kernel()->string_view());
}

/// Says for each segment which one runs next.
void connect(std::vector<Segment> &segments) {
  std::vector<uint32_t> open; ///< segments that end in an if, else or loop
  for (uint32_t s = 0; s < segments.size(); ++s) {
    Segment &segment = segments[s];
    segment.next = s + 1;
    if (segment.ends == HostInstruction::Else) {
      segments[open.back()].otherwise = s + 1;
      open.back() = s;
    } else if (segment.ends == HostInstruction::End) {
      Segment &begin = segments[open.back()];
      if (begin.ends == HostInstruction::Loop) {
        segment.next = open.back();
        begin.otherwise = s + 1;
      } else {
        begin.next = s + 1;
      }
      open.pop_back();
    } else if (segment.ends == HostInstruction::If ||
               segment.ends == HostInstruction::Loop) {
      open.push_back(s);
    }
  }
}

} // namespace

Segments findSegments(const artifact::Program &program) {
  Segments segments;
  const InstructionList &list = *program.run();
  auto start = [&](uint32_t first) {
    segments.list.emplace_back();
    segments.list.back().first = segments.list.back().end = first;
  };
  start(0);
  for (uint32_t i = 0; i < list.size(); ++i) {
    const HostInstruction kind = kindOf(list, i);
    // An iteration starts with the condition, not with what is before it.
    if (kind == HostInstruction::Loop && i > segments.list.back().first)
      start(i);
    segments.list.back().end = i + 1;
    segments.list.back().ends = kind;
    // What a guard says of sizes must hold before views of them are planned.
    const bool isGuard = list.Get(i)->kernel()->string_view() == "Guard";
    if (kind != HostInstruction::None || isGuard)
      start(i + 1);
  }
  segments.list.back().isLast = true;
  connect(segments.list);
  UseFinder finder(program, segments);
  finder.visit(list);
  finder.visitOutputs();
  finder.finish();
  if (!segments.isStatic()) {
    SymbolFinder symbols(program);
    for (Segment &segment : segments.list)
      segment.symbols = symbols.find(segment);
  }
  return segments;
}

Segments loadSegment(const artifact::Program &program) {
  Segments segments;
  segments.list.emplace_back();
  segments.list.back().end = program.load()->size();
  UseFinder finder(program, segments);
  finder.visit(*program.load());
  finder.finish();
  return segments;
}

} // namespace shardc::runtime
