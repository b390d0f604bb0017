#include "runtime/transport/SharedFile.h"

#include "runtime/base/Message.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <string_view>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL // of Linux 6.3, which may insist on it
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace shardc::runtime {
namespace {

constexpr char kName[] = "shardc-outbox";
/// How /proc calls it.
constexpr std::string_view kLink = "/memfd:shardc-outbox (deleted)";
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_SEAL;

uint64_t pageBytes() {
  static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

uint64_t wholePages(uint64_t bytes) {
  return (bytes + pageBytes() - 1) / pageBytes() * pageBytes();
}

Status systemError(const std::string &what) {
  return artifactError(what, ": ", std::strerror(errno));
}

} // namespace

SharedPiece::~SharedPiece() {
  if (address)
    munmap(address, length);
}

SharedPiece SharedPiece::map(int file, uint64_t offset, uint64_t bytes) {
  SharedPiece piece;
  void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                  static_cast<off_t>(offset));
  if (at == MAP_FAILED)
    return piece;
  piece.address = static_cast<std::byte *>(at);
  piece.begin = offset;
  piece.length = bytes;
  return piece;
}

Status Outbox::create() {
  // Past such a limit the system ends a process.
  rlimit limit = {};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY)
    return artifactError("the sizes of files are limited (ulimit -f)");
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  Socket made(memfd_create(kName, kFlags | MFD_NOEXEC_SEAL));
  if (!made.isOpen())
    made = Socket(memfd_create(kName, kFlags));
  if (!made.isOpen())
    return systemError("no memory file can be made");
  file = std::move(made);
  first = add(sizeof(OutboxHead));
  if (!first.data())
    return systemError("no memory can be shared");
  auto *head = new (first.data()) OutboxHead;
  if (!drawNonce(head->nonce))
    return artifactError("the system has no random bytes");
  return fcntl(file.descriptor(), F_ADD_SEALS, kSeals) == 0
             ? Status::ok()
             : systemError("a memory file cannot be sealed");
}

SharedPiece Outbox::add(uint64_t bytes) {
  constexpr uint64_t kMost = uint64_t{1} << 46; // as much as can be mapped
  if (bytes > kMost)
    return {};
  const uint64_t size = wholePages(std::max<uint64_t>(bytes, 1));
  uint64_t begin = 0;
  {
    std::lock_guard lock(mutex);
    begin = end;
    end += size;
  }
  // Pages that are not there when they are written to would end the process.
  if (fallocate(file.descriptor(), 0, static_cast<off_t>(begin),
                static_cast<off_t>(size)) != 0)
    return {};
  return SharedPiece::map(file.descriptor(), begin, size);
}

void Outbox::remove(SharedPiece piece) {
  if (piece.data())
    (void)fallocate(
        file.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
        static_cast<off_t>(piece.offset()), static_cast<off_t>(piece.size()));
}

Status PeerFile::open(int64_t pid, int descriptor, const Nonce &nonce) {
  // Anything may have that number where the process is not to be seen, and some
  // files do things when they are opened.
  const std::string path = message("/proc/", pid, "/fd/", descriptor);
  char link[64];
  const ssize_t length = readlink(path.c_str(), link, sizeof link);
  if (length < 0)
    return systemError(path + " cannot be read");
  if (std::string_view(link, static_cast<size_t>(length)) != kLink)
    return artifactError(path, " is not the memory of that process");
  file = Socket(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!file.isOpen())
    return systemError(path + " cannot be opened");
  if ((fcntl(file.descriptor(), F_GET_SEALS) & kSeals) != kSeals)
    return artifactError(path, " can be made shorter by anybody");
  first = map(0, wholePages(sizeof(OutboxHead)));
  if (!first.data() ||
      !isSame(reinterpret_cast<OutboxHead *>(first.data())->nonce, nonce))
    return artifactError(path, " is not the memory of that process");
  return Status::ok();
}

SharedPiece PeerFile::map(uint64_t offset, uint64_t bytes) const {
  struct stat found = {};
  if (fstat(file.descriptor(), &found) != 0)
    return {};
  const auto size = static_cast<uint64_t>(found.st_size);
  if (bytes == 0 || offset > size || bytes > size - offset ||
      offset % pageBytes() != 0)
    return {};
  return SharedPiece::map(file.descriptor(), offset, bytes);
}

} // namespace shardc::runtime
