//===- SourceFile.h - A file of which parts are read ----------------------===//
#ifndef SHARDC_COMPILER_FILES_SOURCEFILE_H
#define SHARDC_COMPILER_FILES_SOURCEFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/FileSystem.h"

#include <string>

namespace shardc::files {

/// Open as long as it lives; that it cannot be opened is what reading says.
class SourceFile {
public:
  explicit SourceFile(const std::string &path);
  SourceFile(const SourceFile &) = delete;
  SourceFile &operator=(const SourceFile &) = delete;
  ~SourceFile();

  /// Of a few bytes a system would read some MB more, ahead of what nobody asks
  /// for. Says that it need not.
  void readsLittle();

  /// Fills `to` with the bytes from `offset` on; "" or why it cannot.
  [[nodiscard]] std::string read(uint64_t offset,
                                 llvm::MutableArrayRef<char> to);

private:
  llvm::sys::fs::file_t file = llvm::sys::fs::kInvalidFile;
  std::string problem; ///< of opening it
};

} // namespace shardc::files

#endif // SHARDC_COMPILER_FILES_SOURCEFILE_H
