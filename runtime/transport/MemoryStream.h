//===- MemoryStream.h - A stream in memory that both ends have ------------===//
//
// The sender's outbox (SharedFile.h) holds, for each stream, a ring: a record
// for each slot, which says where its message lies, and what the receiver has
// taken. A message is written once, and read where it lies.
//
//   sender     writes slot n % slots, its record, then the record's stamp
//   receiver   waits for that stamp; reads; counts it as taken
//   sender     writes that slot again once it is
//
// Stamps are the messages' numbers, from 1 on, together with that of the epoch:
// after a request that failed both ends begin again at 1, in the next epoch, and
// whatever the ring says of an earlier one is nothing (Settlement.h). Memory is
// faster than the connection: what belongs to the next epoch may be there before
// the word that this one is over, and is not seen until then.
//
// The ring's place in the outbox comes over the connection, with the first
// message. What the other end writes is believed no more than what it sends: a
// record is copied before it is checked.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_MEMORYSTREAM_H
#define SHARDC_RUNTIME_TRANSPORT_MEMORYSTREAM_H

#include "runtime/transport/SharedFile.h"
#include "runtime/transport/Stream.h"

#include <atomic>
#include <vector>

namespace shardc::runtime {

class MemoryStream final : public Stream {
public:
  /// `epoch`: of the pair, where the stream is one of requests.
  MemoryStream(Transport &transport, int peer, uint32_t number,
               const StreamOptions &options, Outbox &outbox,
               const PeerFile &theirs, uint64_t epoch);

  bool hasSlot() const override;
  void commit(int64_t bytes, uint64_t tag) override;
  bool hasArrived() const override;
  Arrived front() override;
  void release() override;

private:
  /// Where a message lies.
  struct alignas(64) Record {
    std::atomic<uint64_t> stamp;
    uint64_t offset, capacity; ///< of the slot
    uint64_t bytes, tag;
  };
  struct Ring {
    alignas(64) std::atomic<uint64_t> taken; ///< a stamp, by the receiver
  };
  static Record &record(std::byte *ring, uint64_t at) {
    return reinterpret_cast<Record *>(ring + sizeof(Ring))[at];
  }
  uint64_t ringBytes() const {
    return sizeof(Ring) + options.slots * sizeof(Record);
  }
  uint64_t stamp(uint64_t count) const { return epoch << 48 | count; }

  std::byte *slotFor(int64_t bytes) override;
  void drop() override;
  std::byte *arriving(const FrameHeader &) override { return nullptr; }
  bool take(const FrameHeader &header) override;
  Arrived broken(uint64_t bytes);

  Outbox &outbox;
  const PeerFile &theirs;
  uint64_t epoch;

  // Of the thread that sends.
  SharedPiece ring;
  std::vector<SharedPiece> outgoing;
  uint64_t sent = 0;
  bool isAnnounced = false;

  // Of the thread that receives, but for the ring, which the transport's finds.
  SharedPiece theirRing;
  std::atomic<std::byte *> incomingRing = nullptr;
  std::vector<SharedPiece> incoming;
  uint64_t released = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_MEMORYSTREAM_H
