//===- TemporaryFile.h - What linkers and assemblers read and write -------===//
#ifndef SHARDC_COMPILER_CODEGEN_TEMPORARYFILE_H
#define SHARDC_COMPILER_CODEGEN_TEMPORARYFILE_H

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileUtilities.h"

#include <string>

namespace shardc::codegen {

/// A file that goes away with it.
class TemporaryFile {
public:
  /// Holds `bytes`; "" or why it could not be written.
  std::string create(llvm::StringRef suffix, llvm::StringRef bytes = "");

  const char *path() { return name.c_str(); }
  /// What it holds now; "" where it cannot be read.
  std::string read() const;

private:
  llvm::SmallString<128> name;
  llvm::FileRemover remover;
};

} // namespace shardc::codegen

#endif // SHARDC_COMPILER_CODEGEN_TEMPORARYFILE_H
