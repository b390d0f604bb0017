//===- SocketStream.h - A stream over the pair's connection ---------------===//
//
// Each message is a frame; how many were taken comes back with messages of the
// other direction, or, of a stream that goes one way, as frames of their own.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_SOCKETSTREAM_H
#define SHARDC_RUNTIME_TRANSPORT_SOCKETSTREAM_H

#include "runtime/base/AlignedBuffer.h"
#include "runtime/transport/Stream.h"

#include <atomic>
#include <vector>

namespace shardc::runtime {

class SocketStream final : public Stream {
public:
  SocketStream(Transport &transport, int peer, uint32_t number,
               const StreamOptions &options)
      : Stream(transport, peer, number, options), outgoing(options.slots),
        incoming(options.slots) {}

  bool hasSlot() const override {
    return sent - written.load(std::memory_order_acquire) < outgoing.size() &&
           sent - takenThere.load(std::memory_order_acquire) < incoming.size();
  }
  void commit(int64_t bytes, uint64_t tag) override;
  bool hasArrived() const override {
    return arrived.load(std::memory_order_acquire) > released;
  }
  Arrived front() override;
  void release() override;

  /// The system has taken a message.
  void noteWritten() { written.fetch_add(1, std::memory_order_release); }

private:
  struct Slot {
    AlignedBuffer memory; ///< grows, and is kept
    int64_t bytes = 0;
    uint64_t tag = 0;
  };
  static Slot &slot(std::vector<Slot> &slots, uint64_t number) {
    return slots[static_cast<size_t>(number % slots.size())];
  }
  std::byte *slotFor(int64_t bytes) override;
  void drop() override;
  std::byte *arriving(const FrameHeader &header) override;
  bool take(const FrameHeader &header) override;

  std::vector<Slot> outgoing, incoming;
  uint64_t sent = 0;                    ///< by the thread that sends
  std::atomic<uint64_t> written = 0;    ///< of them, given to the system
  std::atomic<uint64_t> takenThere = 0; ///< of them, released by the other end
  std::atomic<uint64_t> arrived = 0;    ///< by the transport's thread
  uint64_t released = 0;                ///< by the thread that receives
  std::atomic<uint64_t> takenHere = 0;  ///< the same, for the headers
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_SOCKETSTREAM_H
