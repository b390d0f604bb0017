//===- OutputFile.h - Files that are whole or not there -------------------===//
#ifndef SHARDC_COMPILER_FILES_OUTPUTFILE_H
#define SHARDC_COMPILER_FILES_OUTPUTFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <system_error>

namespace shardc::files {

using Writer = llvm::function_ref<void(llvm::raw_ostream &)>;

/// Writes beside `path` and renames it into place; on an error nothing is left
/// behind. A symlink is followed. What is no regular file (a pipe, /dev/full)
/// is written to as it is, "-" is standard output.
std::error_code writeFileAtomically(llvm::StringRef path, Writer write);

/// Writes in place: for a file in a folder that goes away after an error.
std::error_code writeFile(llvm::StringRef path, Writer write);

/// What became of a stream, which is then one without error.
std::error_code takeError(llvm::raw_fd_ostream &stream);

/// Whether there is no room, or nobody who reads: the path itself is fine.
bool isBeyondPath(std::error_code error);

} // namespace shardc::files

#endif // SHARDC_COMPILER_FILES_OUTPUTFILE_H
