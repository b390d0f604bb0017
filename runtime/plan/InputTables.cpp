#include "runtime/plan/InputTables.h"

#include "runtime/artifact/Instructions.h"
#include "runtime/artifact/ScalarDependence.h"
#include "runtime/program/ScalarEvaluator.h"

namespace shardc::runtime {
namespace {

using artifact::Instruction;
using artifact::Program;

const artifact::View *viewOf(const Program &program, int32_t number) {
  return number < 0 ? nullptr
                    : program.views()->Get(static_cast<uint32_t>(number));
}

/// Sizes that are alike for all requests and ranks.
class Constants {
public:
  explicit Constants(const Program &program)
      : dependences(scalarDependences(program)) {
    const std::vector<int64_t> coordinates(program.axes()->size(), 0);
    if (!evaluateLoadScalars(program, dependences, coordinates, values).isOk())
      values.assign(dependences.size(), 0);
  }
  /// 0: it is none.
  int64_t of(uint32_t scalar) const {
    return dependences[scalar] == kOnNothing ? values[scalar] : 0;
  }

private:
  const std::vector<uint8_t> dependences;
  std::vector<int64_t> values;
};

/// Of the table of a Gather, over all ranks; 0: it is not known, or the kernel
/// will say what is wrong.
int64_t rowsOf(const Program &program, const Constants &constants,
               const Instruction &gather) {
  if (const auto *lookup = findAttribute(gather, "lookup")) { // base, all rows
    if (lookup->ints() && lookup->ints()->size() == 2)
      return lookup->ints()->Get(1);
    if (lookup->scalars() && lookup->scalars()->size() == 2)
      return constants.of(lookup->scalars()->Get(1));
    return 0;
  }
  const artifact::Attribute *axis = findAttribute(gather, "axis");
  const artifact::View *table = viewOf(program, gather.inputs()->Get(0));
  if (!table || !axis || !axis->ints() || axis->ints()->size() != 1)
    return 0;
  const auto *dims = table->dims();
  const int64_t given = axis->ints()->Get(0);
  const int64_t at = given < 0 ? given + dims->size() : given;
  if (at < 0 || at >= dims->size())
    return 0;
  return constants.of(dims->Get(static_cast<uint32_t>(at)));
}

bool isIndex(artifact::ElementType element) {
  return element == artifact::ElementType_Int32 ||
         element == artifact::ElementType_Int64;
}

/// Which input the views on each buffer show, as it is or cast to indices.
class ShownInputs {
public:
  explicit ShownInputs(const Program &program)
      : program(program), inputs(program.buffers()->size(), -1) {
    for (uint32_t b = 0; b < inputs.size(); ++b)
      if (const artifact::Buffer *buffer = program.buffers()->Get(b);
          buffer->kind() == artifact::BufferKind_Input)
        inputs[b] = buffer->source();
  }
  /// -1: another thing.
  int64_t of(int32_t number) const {
    const artifact::View *view = viewOf(program, number);
    return view ? inputs[view->buffer()] : -1;
  }
  /// Whether a view of the input shows all of what the rank has: ids[:, :1] does
  /// not.
  bool isWhole(int64_t input, int32_t number) const {
    const auto *shown = viewOf(program, number)->dims();
    const uint32_t all = program.inputs()->Get(uint32_t(input))->view();
    const auto *dims = program.views()->Get(all)->dims();
    return std::equal(shown->begin(), shown->end(), dims->begin(), dims->end());
  }
  void cast(int32_t from, int32_t to) {
    const artifact::View *view = viewOf(program, to);
    if (view && isIndex(view->element()))
      inputs[view->buffer()] = of(from);
  }

private:
  const Program &program;
  std::vector<int64_t> inputs;
};

} // namespace

std::vector<int64_t> rowsOfTables(const Program &program) {
  // Looked up as a whole, and in parts, which have tables of their own at times.
  std::vector<int64_t> rows(program.inputs()->size(), 0), parts = rows;
  const Constants constants(program);
  ShownInputs shown(program);
  int depth = 0; // in branches and loops, which a request may not come by
  for (const Instruction *each : *program.run()) {
    const std::string_view kernel = each->kernel()->string_view();
    const HostInstruction host = hostInstruction(kernel);
    depth += host == HostInstruction::If || host == HostInstruction::Loop;
    depth -= host == HostInstruction::End;
    const auto *inputs = each->inputs(), *outputs = each->outputs();
    if (depth > 0 || outputs->size() != 1)
      continue;
    if (kernel == "Cast" && inputs->size() == 1)
      shown.cast(inputs->Get(0), outputs->Get(0));
    if (kernel != "Gather" || inputs->size() != 2)
      continue;
    const int64_t input = shown.of(inputs->Get(1));
    const int64_t found = input < 0 ? 0 : rowsOf(program, constants, *each);
    if (found == 0)
      continue;
    const auto i = static_cast<size_t>(input);
    if (shown.isWhole(input, inputs->Get(1)))
      rows[i] = leastRows(rows[i], found);
    else
      parts[i] = std::max(parts[i], found);
  }
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i] == 0)
      rows[i] = parts[i];
  return rows;
}

} // namespace shardc::runtime
