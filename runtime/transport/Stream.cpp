#include "runtime/transport/Stream.h"

#include "runtime/base/Message.h"
#include "runtime/transport/StreamNumbers.h"
#include "runtime/transport/Transport.h"
#include "runtime/transport/TransportPeer.h"

#include <cstring>
#include <unistd.h>

namespace shardc::runtime {

/// Half as much again, so that a growing sequence does not allocate each time.
static bool grow(AlignedBuffer &memory, int64_t bytes) {
  if (memory.data() && memory.size() >= bytes)
    return true;
  return memory.allocate(memory.size() > 0 ? bytes + bytes / 2 : bytes);
}

bool Stream::isOfRequests() const {
  return number != kCommandStream && number != kControlStream;
}

void Stream::drop() {
  takenThere.store(sent, std::memory_order_release);
  released = arrived.load(std::memory_order_acquire);
  takenHere.store(released, std::memory_order_release);
}

Status Stream::prepare(int64_t bytes, std::byte *&memory,
                       std::optional<Deadline> deadline) {
  SHARDC_RETURN_IF_ERROR(
      transport.wait([this] { return hasSlot(); }, deadline, isOfRequests()));
  Slot &next = slot(outgoing, sent);
  if (!grow(next.memory, bytes))
    return artifactError("out of memory for ", bytes,
                         " bytes that are sent to ", transport.rankText(peer));
  memory = next.memory.data();
  return Status::ok();
}

void Stream::commit(int64_t bytes, uint64_t tag) {
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

Status Stream::send(std::span<const std::byte> message,
                    std::optional<Deadline> deadline) {
  std::byte *memory = nullptr;
  const auto bytes = static_cast<int64_t>(message.size());
  SHARDC_RETURN_IF_ERROR(prepare(bytes, memory, deadline));
  if (bytes > 0)
    std::memcpy(memory, message.data(), message.size());
  commit(bytes, 0);
  return Status::ok();
}

std::byte *Stream::arriving(const FrameHeader &header) {
  const uint64_t number = arrived.load(std::memory_order_relaxed);
  const bool isFree =
      number - takenHere.load(std::memory_order_acquire) < incoming.size();
  Slot &next = slot(incoming, number);
  // More than the machine has is no message.
  static const auto most = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                           static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (!isFree || header.bytes > most ||
      !grow(next.memory, static_cast<int64_t>(header.bytes)))
    return nullptr;
  next.bytes = static_cast<int64_t>(header.bytes);
  next.tag = header.tag;
  return next.memory.data();
}

Arrived Stream::front() const {
  const Slot &next = incoming[static_cast<size_t>(released % incoming.size())];
  return {{next.memory.data(), static_cast<size_t>(next.bytes)}, next.tag};
}

void Stream::release() {
  takenHere.store(++released, std::memory_order_release);
  if (options.isOneWay) {
    const FrameHeader header{FrameKind::Credit, number, 0,
                             released,          0,      options};
    transport.send(*transport.peers[static_cast<size_t>(peer)], *this, header,
                   nullptr);
  }
}

} // namespace shardc::runtime
