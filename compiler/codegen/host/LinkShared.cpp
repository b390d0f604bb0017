//===- LinkShared.cpp - From an object file to a shared one ---------------===//
//
// lld is linked into the compiler, so that no linker need be installed. It
// reads and writes files.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/TemporaryFile.h"
#include "compiler/codegen/host/HostKernels.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/raw_ostream.h"

LLD_HAS_DRIVER(elf)

namespace shardc::codegen {

std::string linkShared(llvm::StringRef object, std::string &why) {
  TemporaryFile from, to;
  why = from.create("o", object);
  if (why.empty())
    why = to.create("so");
  if (!why.empty())
    return "";
  std::string messages;
  llvm::raw_string_ostream os(messages);
  // The name that is written into the file must not be that of a temporary one.
  const char *arguments[] = {"ld.lld",
                             "-shared",
                             "-o",
                             to.path(),
                             "--soname=kernels.so",
                             "--build-id=none",
                             "--threads=1",
                             "-znow",
                             "-zrelro",
                             "--hash-style=gnu",
                             from.path()};
  const lld::DriverDef driver{lld::Gnu, &lld::elf::link};
  lld::Result result = lld::lldMain(arguments, os, os, driver);
  std::string linked = to.read();
  if (result.retCode == 0 && !linked.empty())
    return linked;
  why = "lld failed: " + messages;
  return "";
}

} // namespace shardc::codegen
