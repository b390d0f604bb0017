#include "runtime/artifact/check/ProgramChecks.h"

#include <algorithm>
#include <set>
#include <string>

namespace shardc::runtime {

Status ProgramChecker::checkBuffers() {
  for (uint32_t b = 0; b < program.buffers()->size(); ++b) {
    const artifact::Buffer *buffer = program.buffers()->Get(b);
    std::string where = message("buffer ", b);
    uint8_t allowed = kOnCoordinates;
    bool fine = true;
    switch (buffer->kind()) {
    case artifact::BufferKind_Arena:
      allowed |= kOnSymbols;
      fine = buffer->first_use() <= buffer->last_use();
      break;
    case artifact::BufferKind_Persistent:
      break;
    case artifact::BufferKind_Weight:
      fine = buffer->source() < program.weights()->size();
      break;
    case artifact::BufferKind_Joined:
      fine = program.joins() && buffer->source() < program.joins()->size();
      break;
    case artifact::BufferKind_Cache:
      allowed |= kOnSymbols;
      fine = program.caches() && buffer->source() < program.caches()->size() &&
             program.caches()->Get(buffer->source())->buffer() == b;
      break;
    case artifact::BufferKind_Input:
      allowed |= kOnSymbols;
      fine = buffer->source() < program.inputs()->size();
      break;
    default:
      fine = false;
    }
    if (!fine)
      return artifactError(where, " is malformed");
    SHARDC_RETURN_IF_ERROR(
        checkScalarIndex(buffer->bytes(), allowed, where.c_str()));
  }
  return Status::ok();
}

Status ProgramChecker::checkViews() {
  uint8_t any = kOnSymbols | kOnCoordinates;
  for (uint32_t v = 0; v < program.views()->size(); ++v) {
    const artifact::View *view = program.views()->Get(v);
    std::string where = message("view ", v);
    if (view->buffer() >= program.buffers()->size() ||
        view->element() > artifact::ElementType_MAX ||
        view->dims()->size() > artifact::kMaxRank ||
        view->strides()->size() != view->dims()->size())
      return artifactError(where, " is malformed");
    for (uint32_t scalar : *view->dims())
      SHARDC_RETURN_IF_ERROR(checkScalarIndex(scalar, any, where.c_str()));
    for (uint32_t scalar : *view->strides())
      SHARDC_RETURN_IF_ERROR(checkScalarIndex(scalar, any, where.c_str()));
    SHARDC_RETURN_IF_ERROR(
        checkScalarIndex(view->offset(), any, where.c_str()));
    const artifact::Buffer *buffer = program.buffers()->Get(view->buffer());
    const artifact::Weight *weight = weightOf(program, *buffer);
    bool input = buffer->kind() == artifact::BufferKind_Input;
    // Of an input the view that it is bound to says what is stored.
    const uint32_t bound =
        input ? program.inputs()->Get(buffer->source())->view() : v;
    artifact::ElementType stored = weight ? weight->element()
                                   : bound < program.views()->size()
                                       ? program.views()->Get(bound)->element()
                                       : artifact::ElementType_MAX;
    if (stored != view->element())
      return artifactError(where, " reads another element type than its ",
                           weight ? "weight" : "input", " has");
  }
  return Status::ok();
}

/// In `load` nothing may depend on an input or its shape.
Status ProgramChecker::checkView(uint32_t index, bool load, const char *where) {
  if (index >= program.views()->size())
    return artifactError(where, " refers to view ", index, ", the program has ",
                         program.views()->size());
  if (!load)
    return Status::ok();
  const artifact::View *view = program.views()->Get(index);
  const artifact::Buffer *buffer = program.buffers()->Get(view->buffer());
  if (buffer->kind() == artifact::BufferKind_Input)
    return artifactError(where, " reads an input while loading");
  SHARDC_RETURN_IF_ERROR(
      checkScalarIndex(buffer->bytes(), kOnCoordinates, where));
  SHARDC_RETURN_IF_ERROR(
      checkScalarIndex(view->offset(), kOnCoordinates, where));
  for (uint32_t d = 0; d < view->dims()->size(); ++d) {
    SHARDC_RETURN_IF_ERROR(
        checkScalarIndex(view->dims()->Get(d), kOnCoordinates, where));
    SHARDC_RETURN_IF_ERROR(
        checkScalarIndex(view->strides()->Get(d), kOnCoordinates, where));
  }
  return Status::ok();
}

Status ProgramChecker::checkKernelNames() {
  std::set<std::string> unknown;
  for (auto *list : {program.load(), program.run()})
    for (const artifact::Instruction *instruction : *list) {
      std::string_view name = instruction->kernel()->string_view();
      if (callsKernel(name) && !name.starts_with(artifact::kGeneratedPrefix) &&
          !knowsKernel(name))
        unknown.insert(std::string(name));
    }
  if (unknown.empty())
    return Status::ok();
  std::string names;
  for (const std::string &name : unknown)
    names += (names.empty() ? "" : ", ") + name;
  return artifactError("this runtime has no kernel ", names,
                       "; use the runtime that came with the compiler");
}

Status ProgramChecker::checkOperands(const artifact::Instruction &instruction,
                                     bool load) {
  std::string where = describe(instruction);
  for (int32_t view : *instruction.inputs())
    if (view != -1)
      SHARDC_RETURN_IF_ERROR(
          checkView(static_cast<uint32_t>(view), load, where.c_str()));
  for (int32_t view : *instruction.outputs()) {
    if (view == -1)
      continue;
    SHARDC_RETURN_IF_ERROR(
        checkView(static_cast<uint32_t>(view), load, where.c_str()));
    uint32_t buffer =
        program.views()->Get(static_cast<uint32_t>(view))->buffer();
    auto kind = program.buffers()->Get(buffer)->kind();
    if (kind != artifact::BufferKind_Arena &&
        !(!load && kind == artifact::BufferKind_Cache) &&
        !(load && kind == artifact::BufferKind_Persistent))
      return artifactError(where, " writes memory that is read-only (a weight, "
                                  "an input, or a loaded value)");
  }
  return Status::ok();
}

Status ProgramChecker::checkAttributes(const artifact::Instruction &instruction,
                                       bool load) {
  if (!instruction.attributes())
    return Status::ok();
  std::string where = describe(instruction);
  uint8_t allowed = load ? kOnCoordinates : kOnCoordinates | kOnSymbols;
  std::set<std::string_view> seen;
  for (const artifact::Attribute *attribute : *instruction.attributes()) {
    std::string_view name = attribute->name()->string_view();
    if (!seen.insert(name).second)
      return artifactError(where, " has attribute ", name, " twice");
    if (!isAligned(attribute->ints()) || !isAligned(attribute->floats()))
      return artifactError(where, ": attribute ", name, " is misaligned");
    bool ints = attribute->ints() && attribute->ints()->size() > 0;
    bool scalars = attribute->scalars() && attribute->scalars()->size() > 0;
    if (ints && scalars)
      return artifactError(where, ": attribute ", name,
                           " has both literal integers and scalars");
    if (scalars)
      for (uint32_t scalar : *attribute->scalars())
        SHARDC_RETURN_IF_ERROR(
            checkScalarIndex(scalar, allowed, where.c_str()));
    if (attribute->layout())
      for (const artifact::DimLayout *layout : *attribute->layout())
        SHARDC_RETURN_IF_ERROR(checkLayout(layout, where.c_str()));
  }
  return Status::ok();
}

/// Their number, or the first of each rank, ascending from 0, and their number.
static bool countsExperts(const artifact::Attribute *experts) {
  if (!experts || !experts->ints() || experts->ints()->size() == 0)
    return false;
  const flatbuffers::Vector<int64_t> &list = *experts->ints();
  if (list.size() > 1 && list.Get(0) != 0)
    return false;
  for (uint32_t rank = 0; rank + 1 < list.size(); ++rank)
    if (list.Get(rank) > list.Get(rank + 1))
      return false;
  return list.Get(list.size() - 1) >= 1;
}

/// Rows go by the choices of experts that the second input holds.
Status ProgramChecker::checkRouting(const artifact::Instruction &instruction,
                                    const artifact::View &tokens) {
  std::string where = describe(instruction);
  const int32_t second = instruction.inputs()->Get(1);
  const artifact::View *choices =
      second < 0 ? nullptr
                 : program.views()->Get(static_cast<uint32_t>(second));
  if (!choices || choices->dims()->size() != 2 ||
      (choices->element() != artifact::ElementType_Int32 &&
       choices->element() != artifact::ElementType_Int64))
    return artifactError(where, " has no choices of experts, integers "
                                "[tokens, choices], as its second input");
  auto number = [&](const char *name) {
    const artifact::Attribute *found = findAttribute(instruction, name);
    return found && found->ints() && found->ints()->size() == 1
               ? found->ints()->Get(0)
               : -1;
  };
  if (!countsExperts(findAttribute(instruction, "experts")) ||
      number("dim") != 0 || tokens.dims()->size() == 0 ||
      artifact::isSubByte(tokens.element()) ||
      tokens.element() == artifact::ElementType_Bool)
    return artifactError(where,
                         " does not say how many experts there are, "
                         "or routes something else than rows of numbers");
  return Status::ok();
}

Status
ProgramChecker::checkCollective(const artifact::Instruction &instruction) {
  std::string where = describe(instruction);
  const CollectiveForm *form =
      collectiveForm(instruction.kernel()->string_view());
  if (!form)
    return instruction.group() == -1
               ? Status::ok()
               : artifactError(where, " is no collective but has a group");
  if (instruction.group() < 0 ||
      static_cast<uint32_t>(instruction.group()) >= program.groups()->size())
    return artifactError(where, " has no group");
  auto *inputs = instruction.inputs(), *outputs = instruction.outputs();
  const uint32_t numInputs = form->isRouted ? 2 : 1;
  if (inputs->size() != numInputs || outputs->size() != 1 ||
      inputs->Get(0) < 0 || outputs->Get(0) < 0)
    return artifactError(where, " must have ", numInputs,
                         " inputs and one output");
  const artifact::View *in =
      program.views()->Get(static_cast<uint32_t>(inputs->Get(0)));
  const artifact::View *out =
      program.views()->Get(static_cast<uint32_t>(outputs->Get(0)));
  if (in->element() != out->element() ||
      in->dims()->size() != out->dims()->size())
    return artifactError(where, ": its input and output have different types");
  if (form->isRouted)
    SHARDC_RETURN_IF_ERROR(checkRouting(instruction, *in));
  if (form->reduces) {
    const artifact::Attribute *reduce = findAttribute(instruction, "kind");
    std::string text = reduce && reduce->text() ? reduce->text()->str() : "";
    bool boolean = in->element() == artifact::ElementType_Bool;
    if (text != "max" && text != "min" && (text != "sum" || boolean))
      return artifactError(where, " has kind '", text,
                           "', expected sum, max or min");
  }
  if (form->hasDistance) {
    const artifact::Attribute *distance =
        findAttribute(instruction, "distance");
    const bool isValid = distance && distance->ints() &&
                         distance->ints()->size() == 1 &&
                         distance->ints()->Get(0) >= 0;
    if (!isValid)
      return artifactError(where, " has no valid distance");
  }
  return checkSplitDims(instruction, form->splitDims, in->dims()->size());
}

/// So many dims, each with a layout.
Status ProgramChecker::checkSplitDims(const artifact::Instruction &instruction,
                                      size_t count, size_t rank) {
  if (count == 0)
    return Status::ok();
  const artifact::Attribute *dims = findAttribute(instruction, "dim");
  const artifact::Attribute *layout = findAttribute(instruction, "layout");
  bool isValid = dims && dims->ints() && dims->ints()->size() == count;
  for (size_t i = 0; isValid && i < count; ++i) {
    const int64_t dim = dims->ints()->Get(static_cast<uint32_t>(i));
    isValid = dim >= 0 && dim < static_cast<int64_t>(rank);
  }
  if (!isValid)
    return artifactError(describe(instruction), " has no valid dim");
  if (!layout || !layout->layout() || layout->layout()->size() != count)
    return artifactError(describe(instruction), " has no layout of its dim");
  return Status::ok();
}

Status ProgramChecker::checkInstructions(bool load) {
  const auto &list = *(load ? program.load() : program.run());
  for (uint32_t i = 0; i < list.size(); ++i) {
    const artifact::Instruction *instruction = list.Get(i);
    SHARDC_RETURN_IF_ERROR(checkOperands(*instruction, load));
    SHARDC_RETURN_IF_ERROR(checkAttributes(*instruction, load));
    SHARDC_RETURN_IF_ERROR(checkCollective(*instruction));
    SHARDC_RETURN_IF_ERROR(checkTransfer(*instruction, load));
    SHARDC_RETURN_IF_ERROR(checkHost(i, load));
  }
  return Status::ok();
}

} // namespace shardc::runtime
