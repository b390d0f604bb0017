//===- FlagFile.cpp - A file that a flag asks for -------------------------===//

#include "compiler/FlagFile.h"

#include "llvm/Support/raw_ostream.h"

namespace shardc {

ExitCode writeFlagFile(llvm::StringRef flag, llvm::StringRef path,
                       files::Writer writer, llvm::raw_ostream &errors) {
  const std::error_code error = files::writeFileAtomically(path.str(), writer);
  return error ? cannotWrite(flag, path, error, errors) : ExitCode::Done;
}

ExitCode cannotWrite(llvm::StringRef flag, llvm::StringRef path,
                     std::error_code error, llvm::raw_ostream &errors) {
  errors << "error: " << flag << ": cannot write " << path << ": "
         << error.message() << "\n";
  return files::isBeyondPath(error) ? ExitCode::Artifact : ExitCode::Flags;
}

} // namespace shardc
