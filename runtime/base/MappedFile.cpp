#include "runtime/base/MappedFile.h"

#include "runtime/base/Message.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shardc::runtime {

MappedFile::~MappedFile() {
  if (address)
    munmap(const_cast<std::byte *>(address), length);
  if (fd >= 0)
    close(fd);
}

Status MappedFile::open(const std::string &path, MappedFile &file) {
  MappedFile opened;
  opened.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info = {};
  if (opened.fd < 0 || fstat(opened.fd, &info) != 0)
    return artifactError("cannot open ", path, ": ", std::strerror(errno));
  if (!S_ISREG(info.st_mode))
    return artifactError(path, " is not a regular file");
  opened.length = static_cast<uint64_t>(info.st_size);
  if (opened.length > 0) {
    void *at =
        mmap(nullptr, opened.length, PROT_READ, MAP_SHARED, opened.fd, 0);
    if (at == MAP_FAILED)
      return artifactError("cannot map ", path, ": ", std::strerror(errno));
    opened.address = static_cast<const std::byte *>(at);
  }
  file = std::move(opened);
  return Status::ok();
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

Status readSmallFile(const std::string &path, uint64_t limit,
                     std::string &text) {
  MappedFile file;
  SHARDC_RETURN_IF_ERROR(MappedFile::open(path, file));
  if (file.size() > limit)
    return artifactError(path, " has ", file.size(),
                         " bytes, expected at most ", limit);
  text.assign(reinterpret_cast<const char *>(file.data()), file.size());
  return Status::ok();
}

} // namespace shardc::runtime
