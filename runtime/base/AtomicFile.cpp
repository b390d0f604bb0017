#include "runtime/base/AtomicFile.h"

#include "runtime/base/Message.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace shardc::runtime {
namespace {

/// No room, or nobody who reads: the path itself is fine.
bool isBeyondPath(int problem) {
  return problem == ENOSPC || problem == EDQUOT || problem == EIO ||
         problem == EPIPE || problem == EFBIG;
}

/// 0, or why not all of it was written.
int writeAll(const std::string &path, std::string_view contents) {
  std::FILE *file = std::fopen(path.c_str(), "wb");
  if (!file)
    return errno;
  const bool isWhole =
      std::fwrite(contents.data(), 1, contents.size(), file) == contents.size();
  const int problem = isWhole ? 0 : errno;
  if (std::fclose(file) != 0 && problem == 0)
    return errno;
  return problem;
}

int replace(const std::string &path, std::string_view contents) {
  const std::string part = path + ".part" + std::to_string(getpid());
  int problem = writeAll(part, contents);
  if (problem == 0 && std::rename(part.c_str(), path.c_str()) != 0)
    problem = errno;
  if (problem != 0)
    std::remove(part.c_str());
  return problem;
}

} // namespace

Status writeFileAtomically(const std::string &path, std::string_view contents) {
  struct stat known = {};
  const bool exists = stat(path.c_str(), &known) == 0;
  int problem = 0;
  char real[PATH_MAX];
  if (exists && !S_ISREG(known.st_mode) && !S_ISDIR(known.st_mode))
    problem = writeAll(path, contents);
  else if (exists && realpath(path.c_str(), real))
    problem = replace(real, contents);
  else
    problem = replace(path, contents);
  if (problem == 0)
    return Status::ok();
  return Status::error(
      isBeyondPath(problem) ? StatusCode::Artifact
                            : StatusCode::InvalidArgument,
      message("cannot write ", path, ": ", std::strerror(problem)));
}

} // namespace shardc::runtime
