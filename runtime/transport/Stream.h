//===- Stream.h - Messages in order between two processes -----------------===//
//
// One end of a stream. Messages come in order, and lie in a few slots of memory
// that are reused: a sender that is as many messages ahead waits. They go over
// the pair's connection (SocketStream.h), or stay where they were written, in
// memory that both processes have (MemoryStream.h).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_STREAM_H
#define SHARDC_RUNTIME_TRANSPORT_STREAM_H

#include "runtime/base/Status.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

namespace shardc::runtime {

enum class FrameKind : uint32_t {
  Data,    ///< a message of a stream
  Credit,  ///< messages of a stream were taken
  Sign,    ///< of life: what the process is doing
  Abort,   ///< it failed; the text says why
  Goodbye, ///< it needs nobody any more
  Failure, ///< of a request (Settlement.h); the text says why
  Settled, ///< nothing of it is at a request that failed
  Ring,    ///< where messages of a stream are (MemoryStream.h)
};

struct StreamOptions {
  /// Messages that the sender may be ahead of the receiver.
  uint32_t slots = 2;
  /// Messages go only one way, so nothing brings credits back by the way.
  bool isOneWay = false;
};

/// What each frame starts with.
struct FrameHeader {
  FrameKind kind = FrameKind::Data;
  uint32_t stream = 0;
  uint64_t bytes = 0; ///< that follow
  uint64_t taken = 0; ///< messages of the stream that the sender has released;
                      ///< of a failure the request's number
  uint64_t tag = 0;   ///< of the message; of an error the status code
  StreamOptions options = {}; ///< of the stream: the first message may make it
};

struct Arrived {
  std::span<const std::byte> bytes;
  uint64_t tag = 0;
};

class Transport;

/// One thread at a time sends, and one receives.
class Stream {
public:
  Stream(Transport &transport, int peer, uint32_t number,
         const StreamOptions &options)
      : transport(transport), peer(peer), number(number), options(options) {}
  virtual ~Stream() = default;

  int otherRank() const { return peer; }
  /// Waits for it end with a request that fails.
  bool isOfRequests() const;
  /// Whether prepare() would not wait.
  virtual bool hasSlot() const = 0;

  /// Memory for the next message; waits for a slot (see Transport::wait).
  Status prepare(int64_t bytes, std::byte *&memory,
                 std::optional<std::chrono::steady_clock::time_point> deadline);
  /// Sends so many bytes of that memory. `tag` comes with them: what both ends
  /// should agree on, such as the number of the instruction.
  virtual void commit(int64_t bytes, uint64_t tag) = 0;

  /// Both, of a message that is there: a copy of it.
  Status send(std::span<const std::byte> message,
              std::optional<std::chrono::steady_clock::time_point> deadline);

  virtual bool hasArrived() const = 0;
  /// Only if one has arrived; until release().
  virtual Arrived front() = 0;
  virtual void release() = 0;

protected:
  friend class Transport;
  /// The next slot, of at least so many bytes; null if there is no memory.
  virtual std::byte *slotFor(int64_t bytes) = 0;
  /// What was sent and what came is done with, at both ends.
  virtual void drop() = 0;

  // For the transport's thread.
  /// Where a message goes; null if there is no slot, or no memory.
  virtual std::byte *arriving(const FrameHeader &header) = 0;
  /// All of a frame has come; false if it is none that the stream expects.
  virtual bool take(const FrameHeader &header) = 0;

  /// Half as much again, so that a growing sequence does not allocate each time.
  static int64_t grown(int64_t had, int64_t bytes) {
    return had > 0 ? bytes + bytes / 2 : bytes;
  }

  Transport &transport;
  const int peer;
  const uint32_t number;
  const StreamOptions options;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_STREAM_H
