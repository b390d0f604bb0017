//===- ReadChecks.cpp - Sizes are known before they are used --------------===//
#include "runtime/artifact/ProgramChecks.h"

#include <algorithm>

namespace shardc::runtime {

bool bindsSymbol(const artifact::Program &program, uint32_t instruction,
                 uint32_t scalar) {
  const artifact::Scalar *entry = program.scalars()->Get(scalar);
  return entry->op() == artifact::ScalarOp_Symbol &&
         program.symbols()
                 ->Get(static_cast<uint32_t>(entry->value()))
                 ->read() == static_cast<int32_t>(instruction);
}

Status ProgramChecker::checkReadSizes(const artifact::Instruction &instruction,
                                      bool load) {
  if (instruction.kernel()->string_view() != artifact::kReadSizes)
    return Status::ok();
  const char *where = artifact::kReadSizes;
  const auto *inputs = instruction.inputs();
  if (load || inputs->size() != 1 || inputs->Get(0) < 0 ||
      instruction.outputs()->size() != 0)
    return artifactError(where, " must have one input and no output, in run");
  const artifact::View *view =
      program.views()->Get(static_cast<uint32_t>(inputs->Get(0)));
  if (view->element() > artifact::ElementType_UInt64)
    return artifactError(where, " reads elements that are no integers");
  const artifact::Attribute *sizes = findAttribute(instruction, "sizes");
  if (!sizes || !sizes->scalars() || instruction.attributes()->size() != 1)
    return artifactError(where, " has no sizes");
  for (uint32_t dim : *view->dims())
    SHARDC_RETURN_IF_ERROR(checkScalarIndex(dim, kOnNothing, where));
  return Status::ok();
}

Status
ProgramChecker::checkSizesAreKnown(const artifact::Instruction &instruction,
                                   uint32_t index) const {
  int64_t needed = -1;
  auto need = [&](uint32_t scalar) {
    needed = std::max(needed, reads[scalar]);
  };
  auto needView = [&](int32_t number) {
    if (number < 0)
      return;
    const artifact::View *view =
        program.views()->Get(static_cast<uint32_t>(number));
    need(view->offset());
    need(program.buffers()->Get(view->buffer())->bytes());
    for (uint32_t d = 0; d < view->dims()->size(); ++d) {
      need(view->dims()->Get(d));
      need(view->strides()->Get(d));
    }
  };
  for (int32_t view : *instruction.inputs())
    needView(view);
  for (int32_t view : *instruction.outputs())
    needView(view);
  const bool isRead =
      instruction.kernel()->string_view() == artifact::kReadSizes;
  if (instruction.attributes() && !isRead)
    for (const artifact::Attribute *attribute : *instruction.attributes()) {
      if (attribute->scalars())
        for (uint32_t scalar : *attribute->scalars())
          need(scalar);
      if (attribute->layout())
        for (const artifact::DimLayout *layout : *attribute->layout())
          for (const artifact::SegmentLayout *segment : *layout->segments())
            for (const artifact::FactorLayout *factor : *segment->factors())
              need(factor->size());
    }
  if (needed < static_cast<int64_t>(index))
    return Status::ok();
  return artifactError(instruction.kernel()->c_str(), " (instruction ", index,
                       ") needs a size that instruction ", needed, " reads");
}

/// Every symbol of the program's own is read by a read_sizes that names it, and
/// nothing is as large as a symbol says before it was read.
Status ProgramChecker::checkReads() {
  const auto &run = *program.run();
  for (const artifact::Symbol *symbol : *program.symbols())
    if (symbol->read() >= 0 &&
        (static_cast<uint32_t>(symbol->read()) >= run.size() ||
         run.Get(static_cast<uint32_t>(symbol->read()))
                 ->kernel()
                 ->string_view() != artifact::kReadSizes))
      return artifactError("symbol ", symbol->name()->c_str(),
                           " is read by no read_sizes");
  reads.assign(program.scalars()->size(), -1);
  for (uint32_t i = 0; i < reads.size(); ++i) {
    const artifact::Scalar *scalar = program.scalars()->Get(i);
    if (scalar->op() == artifact::ScalarOp_Symbol)
      reads[i] = program.symbols()
                     ->Get(static_cast<uint32_t>(scalar->value()))
                     ->read();
    else if (scalar->op() >= artifact::ScalarOp_Add)
      reads[i] = std::max(reads[static_cast<size_t>(scalar->lhs())],
                          reads[static_cast<size_t>(scalar->rhs())]);
  }
  for (const artifact::Input *input : *program.inputs())
    for (uint32_t dim : *input->dims())
      if (dim >= reads.size() || reads[dim] >= 0)
        return artifactError("input '", input->name()->c_str(),
                             "' has a size that is read later");
  return Status::ok();
}

} // namespace shardc::runtime
