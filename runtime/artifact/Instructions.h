//===- Instructions.h - What an instruction says of itself ----------------===//
#ifndef SHARDC_RUNTIME_ARTIFACT_INSTRUCTIONS_H
#define SHARDC_RUNTIME_ARTIFACT_INSTRUCTIONS_H

#include "runtime/artifact/CollectiveForm.h"
#include "runtime/artifact/Format.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace shardc::runtime {

using artifact::CollectiveForm;
using artifact::collectiveForm;
using artifact::CollectiveKind;

/// Of a buffer of weights: the weight, or the first of those that are joined;
/// null for any other buffer.
const artifact::Weight *weightOf(const artifact::Program &program,
                                 const artifact::Buffer &buffer);

/// The attribute of that name, null if the instruction has none.
const artifact::Attribute *
findAttribute(const artifact::Instruction &instruction, std::string_view name);

/// Whether instruction number `instruction` of `run`, a read_sizes or
/// set_sizes, gives the scalar its value.
bool bindsSymbol(const artifact::Program &program, uint32_t instruction,
                 uint32_t scalar);
/// Whether instructions of `run` bind the symbol.
bool isBoundByRun(const artifact::Symbol &symbol);

/// Instructions that the host does itself, none of which has an output.
enum class HostInstruction { None, ReadSizes, SetSizes, If, Else, Loop, End };

/// None for a kernel's or a collective's name.
HostInstruction hostInstruction(std::string_view name);

/// The number of the collective that the instruction starts or waits for; -1
/// for any other.
int flightOf(const artifact::Instruction &instruction);

/// Whether an instruction of that name is a kernel's: no collective, no
/// transfer, and nothing that the stage does itself.
bool callsKernel(std::string_view name);

/// "MatMul at node 'up'".
std::string describe(const artifact::Instruction &instruction);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_ARTIFACT_INSTRUCTIONS_H
