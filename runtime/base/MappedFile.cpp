#include "runtime/base/MappedFile.h"

#include "runtime/base/Message.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shardc::runtime {

MappedFile::~MappedFile() {
  guard = FileGuard(); // what lies at its addresses next is another's
  if (address)
    munmap(const_cast<std::byte *>(address), length);
  if (fd >= 0)
    close(fd);
}

static FileStamp stampOf(const struct stat &info) {
  return {static_cast<uint64_t>(info.st_size), info.st_mtim.tv_sec,
          info.st_mtim.tv_nsec};
}

Status openRegularFile(const std::string &path, int &descriptor,
                       FileStamp &stamp) {
  descriptor =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat info = {};
  std::string problem;
  if (descriptor < 0 || fstat(descriptor, &info) != 0)
    problem = message("cannot open ", path, ": ", std::strerror(errno));
  else if (!S_ISREG(info.st_mode))
    problem = message(path, " is not a regular file");
  stamp = stampOf(info);
  if (problem.empty())
    return Status::ok();
  if (descriptor >= 0)
    close(std::exchange(descriptor, -1));
  return artifactError(problem);
}

Status MappedFile::open(const std::string &path, MappedFile &file) {
  MappedFile opened;
  SHARDC_RETURN_IF_ERROR(openRegularFile(path, opened.fd, opened.stamp));
  opened.name = path;
  opened.length = opened.stamp.bytes;
  if (opened.length > 0) {
    void *at =
        mmap(nullptr, opened.length, PROT_READ, MAP_SHARED, opened.fd, 0);
    if (at == MAP_FAILED)
      return artifactError("cannot map ", path, ": ", std::strerror(errno));
    opened.address = static_cast<const std::byte *>(at);
    opened.guard.watch(opened.address, opened.length);
  }
  file = std::move(opened);
  return Status::ok();
}

Status MappedFile::checkUnchanged() const {
  struct stat info = {};
  if (fd < 0)
    return Status::ok();
  const char *remedy = " while it was in use: what was computed of it cannot "
                       "be trusted; open the artifact again";
  if (guard.isTorn())
    return artifactError(name, " was cut short, or could not be read,", remedy);
  if (fstat(fd, &info) != 0)
    return artifactError("cannot look at ", name, ": ", std::strerror(errno));
  const FileStamp now = stampOf(info);
  return now == stamp ? Status::ok()
                      : artifactError(name,
                                      now.bytes < stamp.bytes ? " was cut short"
                                                              : " was changed",
                                      remedy);
}

Status readMapped(const std::byte *bytes, size_t count) {
#ifndef MADV_POPULATE_READ
  constexpr int MADV_POPULATE_READ = 22; // since Linux 5.14
#endif
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t at = reinterpret_cast<uintptr_t>(bytes);
  const uintptr_t first = at / page * page;
  if (count == 0 || madvise(reinterpret_cast<void *>(first), at + count - first,
                            MADV_POPULATE_READ) == 0)
    return Status::ok();
  // Anything else: not on this system, so they are read when they are used.
  return errno == EFAULT || errno == EHWPOISON
             ? artifactError("cannot be read: the file was cut short since it "
                             "was opened, or its disk fails; copy it again")
             : Status::ok();
}

void releaseMapped(const std::byte *bytes, size_t count) {
  if (count == 0 || !FileGuard::watches(bytes, count))
    return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t at = reinterpret_cast<uintptr_t>(bytes);
  const uintptr_t first = at / page * page;
  (void)madvise(reinterpret_cast<void *>(first), at + count - first,
                MADV_DONTNEED);
}

Status readSmallFile(const std::string &path, uint64_t limit,
                     std::string &text) {
  int fd = -1;
  FileStamp stamp;
  SHARDC_RETURN_IF_ERROR(openRegularFile(path, fd, stamp));
  // Some files of the system (below /proc) are larger than they say.
  text.clear();
  ssize_t got = 1;
  while (got > 0 && text.size() <= limit) {
    char piece[64 * 1024];
    got = read(fd, piece, sizeof piece);
    if (got > 0)
      text.append(piece, static_cast<size_t>(got));
    else if (got < 0 && errno == EINTR)
      got = 1;
  }
  const std::string why = std::strerror(errno);
  close(fd);
  if (got < 0)
    return artifactError("cannot read ", path, ": ", why);
  if (text.size() > limit)
    return artifactError(path, " has ", std::max(stamp.bytes, text.size()),
                         " bytes, expected at most ", limit);
  return Status::ok();
}

} // namespace shardc::runtime
