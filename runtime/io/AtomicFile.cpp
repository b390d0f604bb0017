#include "runtime/io/AtomicFile.h"

#include "runtime/base/Message.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace shardc::runtime {

Status writeFileAtomically(const std::string &path, std::string_view contents) {
  const std::string part = path + ".part" + std::to_string(getpid());
  std::FILE *file = std::fopen(part.c_str(), "wb");
  bool ok = file != nullptr;
  ok = ok && std::fwrite(contents.data(), 1, contents.size(), file) ==
                 contents.size();
  int problem = errno;
  if (file && std::fclose(file) != 0) {
    problem = ok ? errno : problem;
    ok = false;
  }
  if (ok && std::rename(part.c_str(), path.c_str()) != 0) {
    problem = errno;
    ok = false;
  }
  if (ok)
    return Status::ok();
  if (file)
    std::remove(part.c_str());
  return argumentError("cannot write ", path, ": ", std::strerror(problem));
}

} // namespace shardc::runtime
