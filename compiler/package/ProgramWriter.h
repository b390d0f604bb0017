//===- ProgramWriter.h - An rt.program as a FlatBuffer --------------------===//
#ifndef SHARDC_COMPILER_PACKAGE_PROGRAMWRITER_H
#define SHARDC_COMPILER_PACKAGE_PROGRAMWRITER_H

#include "compiler/package/FileTable.h"
#include "compiler/package/WeightNames.h"
#include "dialects/rt/Rt.h"

#include <string>

namespace shardc::package {

/// The bytes of Program.fbs, or an error at the op that cannot be written.
llvm::FailureOr<std::string> writeProgram(rt::ProgramOp program,
                                          const dist::Mesh &mesh,
                                          const WeightNames &names,
                                          FileTable &files);

} // namespace shardc::package

#endif // SHARDC_COMPILER_PACKAGE_PROGRAMWRITER_H
