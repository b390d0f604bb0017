#include "runtime/rank/LoadedProgram.h"

#include "runtime/artifact/ScalarDependence.h"
#include "runtime/base/Message.h"
#include "runtime/program/ViewResolver.h"
#include "runtime/weights/SliceUses.h"

#include <algorithm>

namespace shardc::runtime {

static std::vector<char> usedInputs(const artifact::Program &program) {
  std::vector<char> used(program.inputs()->size(), 0);
  forEachUsed(program, [&](const artifact::Buffer &buffer) {
    if (buffer.kind() == artifact::BufferKind_Input)
      used[buffer.source()] = 1;
  });
  return used;
}

LoadedProgram::LoadedProgram(const artifact::Program &program, size_t number,
                             size_t profile, int numRanks)
    : program(&program), number(number), profile(profile),
      dependence(scalarDependences(program)), usesInput(usedInputs(program)),
      usesSlice(usedSlices(program)), run(findSegments(program)),
      load(loadSegment(program)) {
  for (int rank = 0; rank < numRanks; ++rank)
    coordinates.push_back(coordinatesOf(program, rank));
  for (const artifact::Group *group : *program.groups())
    partitions.push_back(partitionRanks(program, *group));
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

Status
LoadedProgram::checkReadable(std::span<const InputTensor *const> inputs) const {
  if (program->conditions())
    for (const artifact::Condition *condition : *program->conditions())
      if (const InputTensor *input = inputs[condition->input()];
          condition->dim() < 0 && input && input->onDevice)
        return argumentError("input '", input->name,
                             "' decides on which program runs, which the host "
                             "has to read: it is in memory of a device, "
                             "expected memory of the host");
  return Status::ok();
}

bool LoadedProgram::accepts(std::span<const InputTensor *const> inputs) const {
  if (program->conditions())
    for (const artifact::Condition *condition : *program->conditions())
      if (!holds(*condition, inputs[condition->input()]))
        return false;
  return true;
}

} // namespace shardc::runtime
