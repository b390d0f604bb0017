//===- MappedFile.h - A file mapped read-only -----------------------------===//
//
// Weights are read through mappings: pages that no rank touches never cost
// memory, and ranks of one machine share the others. So whoever writes into the
// file changes what is read here. checkUnchanged() finds that out, and that it
// was truncated; a file that another one took the place of (mv) stays as it is
// for those that have it open.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_MAPPEDFILE_H
#define SHARDC_RUNTIME_BASE_MAPPEDFILE_H

#include "runtime/base/FileGuard.h"
#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace shardc::runtime {

/// When a file was written last, and how large it was.
struct FileStamp {
  uint64_t bytes = 0;
  int64_t seconds = 0, nanoseconds = 0;
  bool operator==(const FileStamp &) const = default;
};

/// Owns the mapping and the descriptor; movable. An empty file maps to nothing.
class MappedFile {
public:
  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept { swap(other); }
  MappedFile &operator=(MappedFile &&other) noexcept {
    swap(other);
    return *this;
  }
  ~MappedFile();

  /// Maps the whole regular file at `path`; the error has code Artifact.
  static Status open(const std::string &path, MappedFile &file);

  /// Whether the file is as it was when it was opened; costs a system call.
  Status checkUnchanged() const;

  const std::byte *data() const { return address; }
  uint64_t size() const { return length; }
  int descriptor() const { return fd; }
  std::span<const std::byte> bytes() const { return {address, length}; }

private:
  void swap(MappedFile &other) {
    std::swap(address, other.address);
    std::swap(length, other.length);
    std::swap(fd, other.fd);
    std::swap(name, other.name);
    std::swap(stamp, other.stamp);
    std::swap(guard, other.guard);
  }

  const std::byte *address = nullptr;
  uint64_t length = 0;
  int fd = -1;
  std::string name;
  FileStamp stamp;
  FileGuard guard;
};

/// Brings the pages of these bytes, which may be a mapped file's, into memory.
/// Unlike touching them it says so where they cannot be read.
Status readMapped(const std::byte *bytes, size_t count);

/// Takes the pages of these bytes out of the process, which reads them again
/// when it touches them; they stay in the system's cache. Nothing where the bytes
/// are not a mapped file's.
void releaseMapped(const std::byte *bytes, size_t count);

/// Opens the regular file at `path` to be read, without waiting for whoever
/// would write into a pipe of that name. `descriptor` is the caller's.
Status openRegularFile(const std::string &path, int &descriptor,
                       FileStamp &stamp);

/// Reads a whole file of at most `limit` bytes into `text`.
Status readSmallFile(const std::string &path, uint64_t limit,
                     std::string &text);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BASE_MAPPEDFILE_H
