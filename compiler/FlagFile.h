//===- FlagFile.h - A file that a flag asks for ---------------------------===//
//
// Written as a whole or not at all. What is wrong is said with the flag:
//
//   error: --save-plan: cannot write plans/p.json: No such file or directory
//
// Which exit status that is depends on whose fault it is: a path is the user's,
// a full disk is not.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_FLAGFILE_H
#define SHARDC_COMPILER_FLAGFILE_H

#include "compiler/Compile.h"
#include "compiler/files/OutputFile.h"

namespace shardc {

ExitCode writeFlagFile(llvm::StringRef flag, llvm::StringRef path,
                       files::Writer writer, llvm::raw_ostream &errors);

/// Says that it cannot be written, and why.
ExitCode cannotWrite(llvm::StringRef flag, llvm::StringRef path,
                     std::error_code error, llvm::raw_ostream &errors);

} // namespace shardc

#endif // SHARDC_COMPILER_FLAGFILE_H
