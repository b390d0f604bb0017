//===- RowForm.cpp - What a kernel is called with -------------------------===//

#include "compiler/codegen/rows/RowForm.h"

#include "compiler/codegen/rows/RowBody.h"

using namespace mlir;

namespace shardc::codegen {

static artifact::ElementType artifactElement(Type element) {
  return element.isF32()    ? artifact::ElementType_Float32
         : element.isF16()  ? artifact::ElementType_Float16
         : element.isBF16() ? artifact::ElementType_BFloat16
                            : artifact::ElementType_Bool;
}

artifact::GeneratedForm generatedForm(rt::KernelOp kernel) {
  const RowPhases phases(kernel);
  artifact::GeneratedForm form;
  form.numInputs = static_cast<int>(kernel.getInputKinds().size());
  form.slots = static_cast<int>(phases.numSlots());
  form.mixesColumns = mixesColumns(kernel, phases);
  for (const RowOperand &operand : operandsOf(kernel))
    form.operands.push_back(
        {artifactElement(operand.element), operand.isPerRow});
  return form;
}

} // namespace shardc::codegen
