#include "runtime/transport/SocketStream.h"

#include "runtime/transport/Transport.h"
#include "runtime/transport/TransportPeer.h"

#include <unistd.h>

namespace shardc::runtime {

static bool makeRoom(AlignedBuffer &memory, int64_t bytes, int64_t grown) {
  return (memory.data() && memory.size() >= bytes) || memory.allocate(grown);
}

std::byte *SocketStream::slotFor(int64_t bytes) {
  AlignedBuffer &memory = slot(outgoing, sent).memory;
  return makeRoom(memory, bytes, grown(memory.size(), bytes)) ? memory.data()
                                                              : nullptr;
}

void SocketStream::commit(int64_t bytes, uint64_t tag) {
  const Slot &next = slot(outgoing, sent++);
  const FrameHeader header{FrameKind::Data,
                           number,
                           static_cast<uint64_t>(bytes),
                           takenHere.load(std::memory_order_relaxed),
                           tag,
                           options};
  transport.send(*transport.peers[static_cast<size_t>(peer)], *this, header,
                 next.memory.data());
}

void SocketStream::drop() {
  takenThere.store(sent, std::memory_order_release);
  released = arrived.load(std::memory_order_acquire);
  takenHere.store(released, std::memory_order_release);
}

std::byte *SocketStream::arriving(const FrameHeader &header) {
  const uint64_t at = arrived.load(std::memory_order_relaxed);
  const bool isFree =
      at - takenHere.load(std::memory_order_acquire) < incoming.size();
  Slot &next = slot(incoming, at);
  // More than the machine has is no message.
  static const auto most = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                           static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (!isFree || header.bytes > most)
    return nullptr;
  const auto bytes = static_cast<int64_t>(header.bytes);
  if (!makeRoom(next.memory, bytes, grown(next.memory.size(), bytes)))
    return nullptr;
  next.bytes = bytes;
  next.tag = header.tag;
  return next.memory.data();
}

bool SocketStream::take(const FrameHeader &header) {
  if (header.kind == FrameKind::Ring)
    return false;
  if (header.taken > takenThere.load())
    takenThere.store(header.taken, std::memory_order_release);
  if (header.kind == FrameKind::Data)
    arrived.fetch_add(1, std::memory_order_release);
  return true;
}

Arrived SocketStream::front() {
  const Slot &next = slot(incoming, released);
  return {{next.memory.data(), static_cast<size_t>(next.bytes)}, next.tag};
}

void SocketStream::release() {
  takenHere.store(++released, std::memory_order_release);
  if (options.isOneWay) {
    const FrameHeader header{FrameKind::Credit, number, 0,
                             released,          0,      options};
    transport.send(*transport.peers[static_cast<size_t>(peer)], *this, header,
                   nullptr);
  }
}

} // namespace shardc::runtime
