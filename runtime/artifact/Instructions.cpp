#include "runtime/artifact/Instructions.h"

#include <algorithm>
#include <utility>

namespace shardc::runtime {

const artifact::Weight *weightOf(const artifact::Program &program,
                                 const artifact::Buffer &buffer) {
  switch (buffer.kind()) {
  case artifact::BufferKind_Weight:
    return program.weights()->Get(buffer.source());
  case artifact::BufferKind_Joined:
    return program.weights()->Get(
        program.joins()->Get(buffer.source())->weights()->Get(0));
  default:
    return nullptr;
  }
}

const artifact::Attribute *
findAttribute(const artifact::Instruction &instruction, std::string_view name) {
  if (instruction.attributes())
    for (const artifact::Attribute *attribute : *instruction.attributes())
      if (attribute->name()->string_view() == name)
        return attribute;
  return nullptr;
}

HostInstruction hostInstruction(std::string_view name) {
  static constexpr std::pair<std::string_view, HostInstruction> all[] = {
      {artifact::kReadSizes, HostInstruction::ReadSizes},
      {artifact::kSetSizes, HostInstruction::SetSizes},
      {artifact::kIf, HostInstruction::If},
      {artifact::kElse, HostInstruction::Else},
      {artifact::kLoop, HostInstruction::Loop},
      {artifact::kEnd, HostInstruction::End}};
  for (const auto &[known, kind] : all)
    if (name == known)
      return kind;
  return HostInstruction::None;
}

bool isBoundByRun(const artifact::Symbol &symbol) {
  return symbol.binders() && symbol.binders()->size() > 0;
}

bool bindsSymbol(const artifact::Program &program, uint32_t instruction,
                 uint32_t scalar) {
  const artifact::Scalar *entry = program.scalars()->Get(scalar);
  if (entry->op() != artifact::ScalarOp_Symbol)
    return false;
  const auto *binders =
      program.symbols()->Get(static_cast<uint32_t>(entry->value()))->binders();
  return binders && std::find(binders->begin(), binders->end(), instruction) !=
                        binders->end();
}

bool callsKernel(std::string_view name) {
  return !collectiveForm(name) &&
         hostInstruction(name) == HostInstruction::None &&
         name != artifact::kSend && name != artifact::kReceive &&
         name != artifact::kWait;
}

int flightOf(const artifact::Instruction &instruction) {
  const std::string_view name = instruction.kernel()->string_view();
  if (name != artifact::kWait && !collectiveForm(name))
    return -1;
  const artifact::Attribute *flight =
      findAttribute(instruction, artifact::kFlight);
  return flight && flight->ints() && flight->ints()->size() == 1
             ? static_cast<int>(flight->ints()->Get(0))
             : -1;
}

std::string describe(const artifact::Instruction &instruction) {
  std::string text = instruction.kernel()->str();
  if (instruction.node() && instruction.node()->size() > 0)
    text += " at node '" + instruction.node()->str() + "'";
  return text;
}

} // namespace shardc::runtime
