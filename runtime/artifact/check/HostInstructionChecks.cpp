//===- HostInstructionChecks.cpp - What the host does itself --------------===//
#include "runtime/artifact/check/ProgramChecks.h"

#include <algorithm>

namespace shardc::runtime {

/// `sizes`, and `values` to go with them where the instruction only binds.
Status ProgramChecker::checkSizes(uint32_t index, bool binds) {
  const artifact::Instruction &instruction = *program.run()->Get(index);
  std::string where = describe(instruction);
  const artifact::Attribute *sizes = findAttribute(instruction, "sizes");
  const artifact::Attribute *values = findAttribute(instruction, "values");
  if (!sizes || !sizes->scalars() ||
      instruction.attributes()->size() != (binds ? 2 : 1))
    return artifactError(where, " has no sizes");
  if (!binds)
    return Status::ok();
  if (!values || !values->scalars() ||
      values->scalars()->size() != sizes->scalars()->size())
    return artifactError(where, " has no value for each of its sizes");
  for (uint32_t scalar : *sizes->scalars())
    if (!bindsSymbol(program, index, scalar))
      return artifactError(where, " sets a size that it does not bind");
  return Status::ok();
}

Status
ProgramChecker::checkCondition(const artifact::Instruction &instruction) {
  const artifact::View *view =
      program.views()->Get(static_cast<uint32_t>(instruction.inputs()->Get(0)));
  if (view->element() != artifact::ElementType_Bool)
    return artifactError(describe(instruction),
                         " has a condition that is not boolean");
  return Status::ok();
}

Status ProgramChecker::checkHost(uint32_t index, bool load) {
  const artifact::Instruction &instruction =
      *(load ? program.load() : program.run())->Get(index);
  const HostInstruction kind =
      hostInstruction(instruction.kernel()->string_view());
  if (kind == HostInstruction::None)
    return Status::ok();
  std::string where = describe(instruction);
  const bool hasInput = kind == HostInstruction::ReadSizes ||
                        kind == HostInstruction::If ||
                        kind == HostInstruction::Loop;
  const auto *inputs = instruction.inputs();
  if (load || instruction.outputs()->size() != 0 ||
      inputs->size() != (hasInput ? 1 : 0) || (hasInput && inputs->Get(0) < 0))
    return artifactError(where, " must have ", hasInput ? "one" : "no",
                         " input and no output, in run");
  if (kind == HostInstruction::SetSizes)
    return checkSizes(index, /*binds=*/true);
  if (kind == HostInstruction::If || kind == HostInstruction::Loop)
    return checkCondition(instruction);
  if (kind != HostInstruction::ReadSizes)
    return Status::ok();
  const artifact::View *view =
      program.views()->Get(static_cast<uint32_t>(inputs->Get(0)));
  if (view->element() > artifact::ElementType_UInt64)
    return artifactError(where, " reads elements that are no integers");
  for (uint32_t dim : *view->dims())
    SHARDC_RETURN_IF_ERROR(checkScalarIndex(dim, kOnNothing, where.c_str()));
  return checkSizes(index, /*binds=*/false);
}

/// Every symbol of the program's own is bound by instructions that may do that.
Status ProgramChecker::checkSymbols() {
  const auto &run = *program.run();
  for (const artifact::Symbol *symbol : *program.symbols()) {
    if (!isBoundByRun(*symbol))
      continue;
    for (uint32_t binder : *symbol->binders()) {
      const HostInstruction kind =
          binder < run.size()
              ? hostInstruction(run.Get(binder)->kernel()->string_view())
              : HostInstruction::None;
      if (kind != HostInstruction::ReadSizes &&
          kind != HostInstruction::SetSizes)
        return artifactError("symbol ", symbol->name()->c_str(),
                             " is bound by no read_sizes or set_sizes");
    }
  }
  return Status::ok();
}

} // namespace shardc::runtime
