#include "runtime/exec/LoadedProgram.h"

#include "runtime/exec/ViewResolver.h"

#include <algorithm>

namespace shardc::runtime {

/// Calls `use(buffer)` for each view that a run uses.
template <typename Use>
static void forEachUsed(const artifact::Program &program, Use use) {
  const std::vector<char> used = usedViews(program);
  for (uint32_t v = 0; v < used.size(); ++v)
    if (used[v])
      use(*program.buffers()->Get(program.views()->Get(v)->buffer()));
}

static std::vector<char> usedInputs(const artifact::Program &program) {
  std::vector<char> used(program.inputs()->size(), 0);
  forEachUsed(program, [&](const artifact::Buffer &buffer) {
    if (buffer.kind() == artifact::BufferKind_Input)
      used[buffer.source()] = 1;
  });
  return used;
}

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

LoadedProgram::LoadedProgram(const artifact::Program &program, size_t number,
                             size_t numRanks)
    : program(&program), number(number), dependence(scalarDependences(program)),
      usesInput(usedInputs(program)), usesSlice(usedSlices(program)),
      run(findSegments(program)), load(loadSegment(program)), ranks(numRanks),
      symbols(program.symbols()->size()) {
  for (size_t rank = 0; rank < numRanks; ++rank)
    coordinates.push_back(coordinatesOf(program, static_cast<int>(rank)));
  for (RankProgram &rank : ranks) {
    rank.arenas.resize(run.list.size());
    rank.carried.resize(program.buffers()->size());
    rank.carriedAt.resize(program.buffers()->size());
  }
}

static bool holds(const artifact::Condition &condition,
                  const InputTensor *input) {
  if (!input)
    return false;
  if (condition.dim() >= 0) {
    const auto dim = static_cast<size_t>(condition.dim());
    return dim < input->dims.size() && input->dims[dim] == condition.size();
  }
  if (!input->data)
    return false;
  int64_t elements = 1;
  for (int64_t dim : input->dims)
    elements *= dim;
  return elements == 1 && input->element == artifact::ElementType_Bool &&
         (*static_cast<const uint8_t *>(input->data) != 0) == condition.value();
}

bool LoadedProgram::accepts(std::span<const InputTensor *const> inputs) const {
  if (program->conditions())
    for (const artifact::Condition *condition : *program->conditions())
      if (!holds(*condition, inputs[condition->input()]))
        return false;
  return true;
}

} // namespace shardc::runtime
