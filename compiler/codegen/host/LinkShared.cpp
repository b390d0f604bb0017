//===- LinkShared.cpp - From an object file to a shared one ---------------===//
//
// lld is linked into the compiler, so that no linker need be installed. It
// reads and writes files.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/host/HostKernels.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"

LLD_HAS_DRIVER(elf)

namespace shardc::codegen {

using llvm::SmallString;
using llvm::StringRef;

/// Writes a temporary file, which goes with `remover`.
static std::string writeTemporary(StringRef suffix, StringRef bytes,
                                  SmallString<128> &path,
                                  llvm::FileRemover &remover) {
  int descriptor = -1;
  std::error_code error = llvm::sys::fs::createTemporaryFile(
      "shardc-kernels", suffix, descriptor, path);
  if (error)
    return "cannot create a temporary file: " + error.message();
  remover.setFile(path);
  llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  os << bytes;
  os.close();
  return os.has_error() ? "cannot write " + path.str().str() : "";
}

std::string linkShared(StringRef object, std::string &why) {
  SmallString<128> from, to;
  llvm::FileRemover removeFrom, removeTo;
  why = writeTemporary("o", object, from, removeFrom);
  if (why.empty())
    why = writeTemporary("so", "", to, removeTo);
  if (!why.empty())
    return "";
  std::string messages;
  llvm::raw_string_ostream os(messages);
  // The name that is written into the file must not be that of a temporary one.
  const char *arguments[] = {"ld.lld",
                             "-shared",
                             "-o",
                             to.c_str(),
                             "--soname=kernels.so",
                             "--build-id=none",
                             "--threads=1",
                             "-znow",
                             "-zrelro",
                             "--hash-style=gnu",
                             from.c_str()};
  const lld::DriverDef driver{lld::Gnu, &lld::elf::link};
  lld::Result result = lld::lldMain(arguments, os, os, driver);
  auto linked = llvm::MemoryBuffer::getFile(to, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (result.retCode != 0 || !linked) {
    why = "lld failed: " + messages;
    return "";
  }
  return (*linked)->getBuffer().str();
}

} // namespace shardc::codegen
