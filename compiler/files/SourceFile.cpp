#include "compiler/files/SourceFile.h"

#include <fcntl.h>

namespace shardc::files {

SourceFile::SourceFile(const std::string &path) {
  if (auto opened = llvm::sys::fs::openNativeFileForRead(path))
    file = *opened;
  else
    problem = llvm::toString(opened.takeError());
}

SourceFile::~SourceFile() {
  if (problem.empty())
    (void)llvm::sys::fs::closeFile(file);
}

void SourceFile::readsLittle() {
  if (problem.empty())
    (void)posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
}

std::string SourceFile::read(uint64_t offset, llvm::MutableArrayRef<char> to) {
  if (!problem.empty())
    return problem;
  while (!to.empty()) {
    llvm::Expected<size_t> got =
        llvm::sys::fs::readNativeFileSlice(file, to, offset);
    if (!got)
      return llvm::toString(got.takeError());
    if (*got == 0)
      return "it ends before its weights do";
    to = to.drop_front(*got);
    offset += *got;
  }
  return "";
}

} // namespace shardc::files
