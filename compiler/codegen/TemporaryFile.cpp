//===- TemporaryFile.cpp - What linkers and assemblers read and write -----===//

#include "compiler/codegen/TemporaryFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace shardc::codegen {

std::string TemporaryFile::create(llvm::StringRef suffix,
                                  llvm::StringRef bytes) {
  int descriptor = -1;
  std::error_code error = llvm::sys::fs::createTemporaryFile(
      "shardc-kernels", suffix, descriptor, name);
  if (error)
    return "cannot create a temporary file: " + error.message() +
           "; set TMPDIR to a folder with room";
  remover.setFile(name);
  llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  os << bytes;
  os.close();
  const std::error_code why = os.error();
  os.clear_error();
  return why ? "cannot write " + name.str().str() + ": " + why.message() +
                   "; set TMPDIR to a folder with room"
             : "";
}

std::string TemporaryFile::read() const {
  auto buffer = llvm::MemoryBuffer::getFile(name, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

} // namespace shardc::codegen
