#include "runtime/transport/MemoryStream.h"

#include "runtime/base/Message.h"
#include "runtime/transport/Transport.h"
#include "runtime/transport/TransportPeer.h"

namespace shardc::runtime {

static_assert(std::atomic<uint64_t>::is_always_lock_free);

MemoryStream::MemoryStream(Transport &transport, int peer, uint32_t number,
                           const StreamOptions &options, Outbox &outbox,
                           const PeerFile &theirs, uint64_t epoch)
    : Stream(transport, peer, number, options), outbox(outbox), theirs(theirs),
      epoch(isOfRequests() ? epoch & 0xffff : 0), outgoing(options.slots),
      incoming(options.slots) {}

//===----------------------------------------------------------------------===//
// Sending
//===----------------------------------------------------------------------===//

bool MemoryStream::hasSlot() const {
  if (!ring.data())
    return true;
  const uint64_t found = reinterpret_cast<Ring *>(ring.data())
                             ->taken.load(std::memory_order_acquire);
  const uint64_t taken = found >> 48 == epoch ? found - stamp(0) : 0;
  return sent - taken < outgoing.size();
}

std::byte *MemoryStream::slotFor(int64_t bytes) {
  if (!ring.data())
    ring = outbox.add(ringBytes()); // of zeros: no message has that stamp
  if (!ring.data())
    return nullptr;
  SharedPiece &slot = outgoing[sent % outgoing.size()];
  const auto had = static_cast<int64_t>(slot.size());
  if (!slot.data() || had < bytes) {
    outbox.remove(std::move(slot));
    slot = outbox.add(static_cast<uint64_t>(grown(had, bytes)));
  }
  return slot.data();
}

void MemoryStream::commit(int64_t bytes, uint64_t tag) {
  const uint64_t at = sent % outgoing.size();
  Record &next = record(ring.data(), at);
  next.offset = outgoing[at].offset();
  next.capacity = outgoing[at].size();
  next.bytes = static_cast<uint64_t>(bytes);
  next.tag = tag;
  next.stamp.store(stamp(++sent), std::memory_order_release);
  if (!isAnnounced) {
    FrameHeader header{.kind = FrameKind::Ring, .stream = number};
    header.tag = ring.offset();
    header.options = options;
    transport.sendText(*transport.peers[static_cast<size_t>(peer)], header, "");
    isAnnounced = true;
  }
  theirs.head().bell.ring();
}

//===----------------------------------------------------------------------===//
// Receiving
//===----------------------------------------------------------------------===//

bool MemoryStream::take(const FrameHeader &header) {
  if (header.kind != FrameKind::Ring || theirRing.data() ||
      header.options.slots != options.slots)
    return false;
  theirRing = theirs.map(header.tag, ringBytes());
  incomingRing.store(theirRing.data(), std::memory_order_release);
  return theirRing.data() != nullptr;
}

bool MemoryStream::hasArrived() const {
  std::byte *at = incomingRing.load(std::memory_order_acquire);
  return at &&
         record(at, released % incoming.size())
                 .stamp.load(std::memory_order_acquire) == stamp(released + 1);
}

Arrived MemoryStream::front() {
  const uint64_t at = released % incoming.size();
  const volatile Record &next = record(incomingRing.load(), at);
  const uint64_t offset = next.offset, capacity = next.capacity,
                 bytes = next.bytes;
  SharedPiece &slot = incoming[at];
  if (slot.offset() != offset || slot.size() != capacity)
    slot = theirs.map(offset, capacity);
  if (!slot.data() || bytes > slot.size())
    return broken(bytes);
  return {{slot.data(), static_cast<size_t>(bytes)}, next.tag};
}

/// All ends; whoever reads it finds that out at its next wait.
Arrived MemoryStream::broken(uint64_t bytes) {
  (void)transport.abort(
      artifactError(transport.rankText(peer), " says that it has written ",
                    bytes, " bytes which are not there, or which rank ",
                    transport.rank(), " cannot map (stream ", number, ")"));
  return {};
}

void MemoryStream::release() {
  reinterpret_cast<Ring *>(incomingRing.load())
      ->taken.store(stamp(++released), std::memory_order_release);
  theirs.head().bell.ring();
}

//===----------------------------------------------------------------------===//
// Settling
//===----------------------------------------------------------------------===//

/// At an end that has not done so yet, nothing of the next request is seen.
void MemoryStream::drop() {
  epoch = (epoch + 1) & 0xffff;
  sent = 0;
  released = 0;
}

} // namespace shardc::runtime
