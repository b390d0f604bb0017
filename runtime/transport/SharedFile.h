//===- SharedFile.h - Memory that processes of one machine have -----------===//
//
// A process's outbox is a file without a name (memfd), in which it writes what
// it sends. Its peers on the machine open it as /proc/PID/fd/FD, and read the
// messages where they lie. Its first page holds a nonce, which was told over the
// connection and proves that the file is that one, and the process's bell; then
// come pieces that are added as they are needed.
//
//   Outbox mine;                                  PeerFile theirs;
//   mine.create()                                 theirs.open(pid, fd, nonce)
//   SharedPiece piece = mine.add(4096);           SharedPiece piece =
//                                                   theirs.map(offset, 4096);
//
// The file is sealed: nobody can make it shorter, so that no access to a piece
// is one behind its end. Pieces that are removed give their memory back, and
// their place in the file is not used again.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_SHAREDFILE_H
#define SHARDC_RUNTIME_TRANSPORT_SHAREDFILE_H

#include "runtime/transport/Bell.h"
#include "runtime/transport/JobSecret.h"
#include "runtime/transport/Socket.h"

#include <mutex>

namespace shardc::runtime {

/// A mapping of a part of a file; movable.
class SharedPiece {
public:
  SharedPiece() = default;
  SharedPiece(SharedPiece &&other) noexcept { swap(other); }
  SharedPiece &operator=(SharedPiece &&other) noexcept {
    swap(other);
    return *this;
  }
  ~SharedPiece();

  /// Of whole pages; null data if that fails.
  static SharedPiece map(int file, uint64_t offset, uint64_t bytes);

  std::byte *data() const { return address; }
  uint64_t offset() const { return begin; }
  uint64_t size() const { return length; }

private:
  void swap(SharedPiece &other) {
    std::swap(address, other.address);
    std::swap(begin, other.begin);
    std::swap(length, other.length);
  }

  std::byte *address = nullptr;
  uint64_t begin = 0, length = 0;
};

/// What an outbox begins with.
struct OutboxHead {
  Nonce nonce = {};
  alignas(64) Bell bell;
  /// On which the process last waited.
  alignas(64) std::atomic<int32_t> core = -1;
};

/// Of this process.
class Outbox {
public:
  /// The error says what the system does not have.
  Status create();
  bool isOpen() const { return file.isOpen(); }
  int descriptor() const { return file.descriptor(); }
  OutboxHead &head() const {
    return *reinterpret_cast<OutboxHead *>(first.data());
  }

  /// At least so many bytes of zeros; null data if there is no memory.
  SharedPiece add(uint64_t bytes);
  void remove(SharedPiece piece);

private:
  Socket file; ///< owns a descriptor
  SharedPiece first;
  std::mutex mutex; ///< of the next
  uint64_t end = 0;
};

/// The outbox of another process.
class PeerFile {
public:
  /// The error says why it is not to be had, or not to be trusted.
  Status open(int64_t pid, int descriptor, const Nonce &nonce);
  OutboxHead &head() const {
    return *reinterpret_cast<OutboxHead *>(first.data());
  }
  /// Null data where the file has no such part.
  SharedPiece map(uint64_t offset, uint64_t bytes) const;

private:
  Socket file;
  SharedPiece first;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_SHAREDFILE_H
