//===- Stream.h - Messages in order between two processes -----------------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_STREAM_H
#define SHARDC_RUNTIME_TRANSPORT_STREAM_H

#include "runtime/base/AlignedBuffer.h"
#include "runtime/base/Status.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace shardc::runtime {

enum class FrameKind : uint32_t {
  Data,    ///< a message of a stream
  Credit,  ///< messages of a stream were taken
  Sign,    ///< of life: what the process is doing
  Abort,   ///< it failed; the text says why
  Goodbye, ///< it needs nobody any more
  Failure, ///< of a request (Settlement.h); the text says why
  Settled, ///< nothing of it is at a request that failed
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

/// One end. One thread at a time sends, and one receives.
class Stream {
public:
  Stream(Transport &transport, int peer, uint32_t number,
         const StreamOptions &options)
      : transport(transport), peer(peer), number(number), options(options),
        outgoing(options.slots), incoming(options.slots) {}

  int otherRank() const { return peer; }
  /// Waits for it end with a request that fails.
  bool isOfRequests() const;
  /// Whether prepare() would not wait.
  bool hasSlot() const {
    return sent - written.load(std::memory_order_acquire) < outgoing.size() &&
           sent - takenThere.load(std::memory_order_acquire) < incoming.size();
  }

  /// Memory for the next message; waits for a slot (see Transport::wait).
  Status prepare(int64_t bytes, std::byte *&memory,
                 std::optional<std::chrono::steady_clock::time_point> deadline);
  /// Sends so many bytes of that memory. `tag` comes with them: what both ends
  /// should agree on, such as the number of the instruction.
  void commit(int64_t bytes, uint64_t tag);

  /// Both, of a message that is there: a copy of it.
  Status send(std::span<const std::byte> message,
              std::optional<std::chrono::steady_clock::time_point> deadline);

  bool hasArrived() const {
    return arrived.load(std::memory_order_acquire) > released;
  }
  /// Only if one has arrived; until release().
  Arrived front() const;
  void release();

private:
  friend class Transport;
  struct Slot {
    AlignedBuffer memory; ///< grows, and is kept
    int64_t bytes = 0;
    uint64_t tag = 0;
  };
  static Slot &slot(std::vector<Slot> &slots, uint64_t number) {
    return slots[static_cast<size_t>(number % slots.size())];
  }
  /// For the transport's thread: where a message goes; null if there is no
  /// slot, or no memory.
  std::byte *arriving(const FrameHeader &header);
  /// What was sent and what came is done with, at both ends.
  void drop();

  Transport &transport;
  const int peer;
  const uint32_t number;
  const StreamOptions options;
  std::vector<Slot> outgoing, incoming;
  uint64_t sent = 0;                    ///< by the thread that sends
  std::atomic<uint64_t> written = 0;    ///< of them, given to the system
  std::atomic<uint64_t> takenThere = 0; ///< of them, released by the other end
  std::atomic<uint64_t> arrived = 0;    ///< by the transport's thread
  uint64_t released = 0;                ///< by the thread that receives
  std::atomic<uint64_t> takenHere = 0;  ///< the same, for the headers
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_STREAM_H
