//===- OutputFile.cpp - Files that are whole or not there -----------------===//

#include "compiler/files/OutputFile.h"

#include "llvm/Support/Errc.h"
#include "llvm/Support/FileSystem.h"

namespace shardc::files {

std::error_code takeError(llvm::raw_fd_ostream &stream) {
  stream.flush();
  const std::error_code error = stream.error();
  stream.clear_error(); // which would be fatal
  return error;
}

std::error_code writeFile(llvm::StringRef path, Writer write) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (error)
    return error;
  write(stream);
  error = takeError(stream);
  stream.close();
  const std::error_code closing = takeError(stream);
  return error ? error : closing;
}

std::error_code writeFileAtomically(llvm::StringRef path, Writer write) {
  if (path == "-") {
    write(llvm::outs());
    return takeError(llvm::outs());
  }
  llvm::sys::fs::file_status status;
  const bool exists = !llvm::sys::fs::status(path, status);
  if (exists && !llvm::sys::fs::is_regular_file(status))
    return writeFile(path, write);
  llvm::SmallString<128> real(path);
  if (exists)
    if (std::error_code error = llvm::sys::fs::real_path(path, real))
      return error;
  llvm::Expected<llvm::sys::fs::TempFile> part =
      llvm::sys::fs::TempFile::create(real + ".part-%%%%%%");
  if (!part)
    return llvm::errorToErrorCode(part.takeError());
  std::error_code error;
  {
    llvm::raw_fd_ostream stream(part->FD, /*shouldClose=*/false);
    write(stream);
    error = takeError(stream);
  }
  if (error) {
    llvm::consumeError(part->discard());
    return error;
  }
  return llvm::errorToErrorCode(part->keep(real));
}

bool isBeyondPath(std::error_code error) {
  for (std::errc known : {std::errc::no_space_on_device, std::errc::io_error,
                          std::errc::broken_pipe, std::errc::file_too_large})
    if (error == known)
      return true;
  return error == std::error_code(EDQUOT, std::generic_category()) ||
         error == std::error_code(EDQUOT, std::system_category());
}

} // namespace shardc::files
