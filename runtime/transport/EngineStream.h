//===- EngineStream.h - A stream whose messages an engine carries ---------===//
//
// Each message says which of the stream it is, from 0 on, and goes into slot
// number % slots, in whichever order they come. Like MemoryStream's they also say
// of which epoch they are: an engine's messages come beside the connection, and
// what belongs to the next epoch may be there before the word that this one is
// over (Settlement.h). It lies in slots of its own until then; what is late is
// nothing to anybody.
//
//   epoch 4   messages 0 1 2 | both settle  | epoch 5   messages 0 1 ..
//   slots of even epochs     |              | slots of odd epochs
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_ENGINESTREAM_H
#define SHARDC_RUNTIME_TRANSPORT_ENGINESTREAM_H

#include "runtime/transport/MessageEngine.h"
#include "runtime/transport/Stream.h"

#include <mutex>
#include <vector>

namespace shardc::runtime {

class EngineStream final : public Stream {
public:
  /// `epoch`: of the pair, where the stream is one of requests. `messages` counts
  /// those that were sent to the peer.
  EngineStream(Transport &transport, int peer, uint32_t number,
               const StreamOptions &options, MessageEngine &engine,
               uint64_t epoch, std::atomic<uint64_t> &messages);

  bool hasSlot() const override;
  void commit(int64_t bytes, uint64_t tag) override;
  bool hasArrived() const override;
  Arrived front() override;
  void release() override;

  // Of the engine, in any thread.
  /// Null if that is no message, or there is no memory.
  std::shared_ptr<AlignedBuffer> begin(const EngineHeader &header);
  void end(const EngineHeader &header);

private:
  struct Slot {
    std::shared_ptr<AlignedBuffer> memory; ///< grows, and is kept
    int64_t bytes = 0;
    uint64_t tag = 0;
    std::atomic<uint64_t> stamp =
        0; ///< of the message that is there, from 1 on
  };
  /// What came in an epoch.
  struct Incoming {
    explicit Incoming(size_t slots) : slots(slots) {}
    std::vector<Slot> slots;
    std::atomic<uint64_t> taken = 0; ///< of what was sent, by the other end
  };
  Incoming &of(uint64_t anyEpoch) { return incoming[anyEpoch % 2]; }
  const Incoming &of(uint64_t anyEpoch) const { return incoming[anyEpoch % 2]; }
  bool isExpected(const EngineHeader &header) const {
    return header.epoch == epoch || header.epoch == epoch + 1;
  }

  std::byte *slotFor(int64_t bytes) override;
  void drop() override;
  std::byte *arriving(const FrameHeader &) override { return nullptr; }
  bool take(const FrameHeader &) override { return false; }

  MessageEngine &engine;
  std::atomic<uint64_t> &messages;
  std::mutex epochMutex; ///< where the engine meets drop()
  uint64_t epoch;

  std::vector<std::shared_ptr<EngineMessage>> outgoing; ///< by slot
  uint64_t sent = 0;                   ///< by the thread that sends
  uint64_t released = 0;               ///< by the thread that receives
  std::atomic<uint64_t> takenHere = 0; ///< the same, for the headers
  Incoming incoming[2];
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_ENGINESTREAM_H
