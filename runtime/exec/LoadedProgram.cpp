#include "runtime/exec/LoadedProgram.h"

namespace shardc::runtime {

LoadedProgram::LoadedProgram(const artifact::Program &program, size_t number,
                             size_t numRanks)
    : program(&program), number(number), dependence(scalarDependences(program)),
      run(findSegments(program)), load(loadSegment(program)), ranks(numRanks),
      symbols(program.symbols()->size()) {
  for (size_t rank = 0; rank < numRanks; ++rank)
    coordinates.push_back(coordinatesOf(program, static_cast<int>(rank)));
  for (RankProgram &rank : ranks) {
    rank.carried.resize(program.buffers()->size());
    rank.carriedAt.resize(program.buffers()->size());
  }
}

bool LoadedProgram::accepts(std::span<const InputTensor *const> inputs) const {
  if (!program->conditions())
    return true;
  for (const artifact::Condition *condition : *program->conditions()) {
    const InputTensor *input = inputs[condition->input()];
    int64_t elements = 1;
    for (int64_t dim : input->dims)
      elements *= dim;
    if (elements != 1 || input->element != artifact::ElementType_Bool ||
        (*static_cast<const uint8_t *>(input->data) != 0) != condition->value())
      return false;
  }
  return true;
}

} // namespace shardc::runtime
