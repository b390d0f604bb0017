#include "runtime/exec/LoadedProgram.h"

namespace shardc::runtime {

std::vector<char> usedSources(const artifact::Program &program,
                              artifact::BufferKind kind) {
  const size_t count = kind == artifact::BufferKind_Input
                           ? program.inputs()->size()
                           : program.weights()->size();
  std::vector<char> used(count, 0);
  auto use = [&](int32_t view) {
    if (view < 0)
      return;
    const artifact::Buffer *buffer = program.buffers()->Get(
        program.views()->Get(static_cast<uint32_t>(view))->buffer());
    if (buffer->kind() == kind)
      used[buffer->source()] = 1;
  };
  for (const artifact::Instruction *instruction : *program.run())
    for (int32_t view : *instruction->inputs())
      use(view);
  for (const artifact::Output *output : *program.outputs())
    use(static_cast<int32_t>(output->view()));
  return used;
}

LoadedProgram::LoadedProgram(const artifact::Program &program, size_t number,
                             size_t numRanks)
    : program(&program), number(number), dependence(scalarDependences(program)),
      usesInput(usedSources(program, artifact::BufferKind_Input)),
      usesWeight(usedSources(program, artifact::BufferKind_Weight)),
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
