//===- RowForm.h - What a kernel is called with ---------------------------===//
#ifndef SHARDC_COMPILER_CODEGEN_ROWS_ROWFORM_H
#define SHARDC_COMPILER_CODEGEN_ROWS_ROWFORM_H

#include "dialects/rt/Rt.h"
#include "runtime/artifact/Generated.h"

namespace shardc::codegen {

/// For the artifact, whose calls the runtime checks against it.
artifact::GeneratedForm generatedForm(rt::KernelOp kernel);

} // namespace shardc::codegen

#endif // SHARDC_COMPILER_CODEGEN_ROWS_ROWFORM_H
