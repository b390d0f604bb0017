#include "runtime/transport/EngineStream.h"

#include "runtime/transport/Transport.h"

#include <unistd.h>

namespace shardc::runtime {

EngineStream::EngineStream(Transport &transport, int peer, uint32_t number,
                           const StreamOptions &options, MessageEngine &engine,
                           uint64_t epoch, std::atomic<uint64_t> &messages)
    : Stream(transport, peer, number, options), engine(engine),
      messages(messages), epoch(isOfRequests() ? epoch : 0),
      incoming{Incoming(options.slots), Incoming(options.slots)} {
  for (uint32_t slot = 0; slot < options.slots; ++slot)
    outgoing.push_back(std::make_shared<EngineMessage>());
}

/// Another buffer where somebody else still has the old one.
static std::byte *makeRoom(std::shared_ptr<AlignedBuffer> &memory,
                           int64_t bytes, int64_t grown) {
  if (!memory || memory.use_count() > 1)
    memory = std::make_shared<AlignedBuffer>();
  return (memory->data() && memory->size() >= bytes) || memory->allocate(grown)
             ? memory->data()
             : nullptr;
}

//===----------------------------------------------------------------------===//
// Sending
//===----------------------------------------------------------------------===//

bool EngineStream::hasSlot() const {
  const EngineMessage &next = *outgoing[sent % outgoing.size()];
  return !next.isSending.load(std::memory_order_acquire) &&
         sent - of(epoch).taken.load(std::memory_order_acquire) <
             outgoing.size();
}

std::byte *EngineStream::slotFor(int64_t bytes) {
  std::shared_ptr<AlignedBuffer> &body = outgoing[sent % outgoing.size()]->body;
  const int64_t had = body ? body->size() : 0;
  return makeRoom(body, bytes, grown(had, bytes));
}

void EngineStream::commit(int64_t bytes, uint64_t tag) {
  const auto &next = outgoing[sent % outgoing.size()];
  next->header = {{FrameKind::Data, number, static_cast<uint64_t>(bytes),
                   takenHere.load(std::memory_order_relaxed), tag, options},
                  sent++,
                  epoch};
  messages.fetch_add(1);
  engine.send(peer, next);
}

//===----------------------------------------------------------------------===//
// Receiving
//===----------------------------------------------------------------------===//

bool EngineStream::hasArrived() const {
  const auto &slots = of(epoch).slots;
  return slots[released % slots.size()].stamp.load(std::memory_order_acquire) ==
         released + 1;
}

Arrived EngineStream::front() {
  const auto &slots = of(epoch).slots;
  const Slot &next = slots[released % slots.size()];
  return {{next.memory->data(), static_cast<size_t>(next.bytes)}, next.tag};
}

void EngineStream::release() {
  takenHere.store(++released, std::memory_order_release);
  if (!options.isOneWay)
    return;
  auto credit = std::make_shared<EngineMessage>();
  credit->header = {
      {FrameKind::Credit, number, 0, released, 0, options}, 0, epoch};
  messages.fetch_add(1);
  engine.send(peer, credit);
}

std::shared_ptr<AlignedBuffer> EngineStream::begin(const EngineHeader &header) {
  // More than the machine has is no message.
  static const auto most = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                           static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const auto bytes = static_cast<int64_t>(header.frame.bytes);
  if (header.frame.bytes > most || header.frame.options.slots != options.slots)
    return nullptr;
  std::lock_guard lock(epochMutex);
  if (!isExpected(header) || header.frame.kind != FrameKind::Data) {
    std::shared_ptr<AlignedBuffer> nobodys;
    return makeRoom(nobodys, bytes, bytes) ? nobodys : nullptr;
  }
  auto &slots = of(header.epoch).slots;
  Slot &slot = slots[header.number % slots.size()];
  const uint64_t taken = header.epoch == epoch ? takenHere.load() : 0;
  if (header.number < taken || header.number - taken >= slots.size() ||
      slot.stamp.load() > header.number)
    return nullptr; // the slot is not free
  const int64_t had = slot.memory ? slot.memory->size() : 0;
  if (!makeRoom(slot.memory, bytes, grown(had, bytes)))
    return nullptr;
  return slot.memory;
}

void EngineStream::end(const EngineHeader &header) {
  std::lock_guard lock(epochMutex);
  if (!isExpected(header))
    return;
  Incoming &all = of(header.epoch);
  if (header.frame.taken > all.taken.load())
    all.taken.store(header.frame.taken, std::memory_order_release);
  if (header.frame.kind != FrameKind::Data)
    return;
  Slot &slot = all.slots[header.number % all.slots.size()];
  slot.bytes = static_cast<int64_t>(header.frame.bytes);
  slot.tag = header.frame.tag;
  slot.stamp.store(header.number + 1, std::memory_order_release);
}

//===----------------------------------------------------------------------===//
// Settling
//===----------------------------------------------------------------------===//

void EngineStream::drop() {
  std::lock_guard lock(epochMutex);
  for (Slot &slot : of(epoch).slots)
    slot.stamp.store(0);
  of(epoch).taken.store(0);
  ++epoch;
  sent = 0;
  released = 0;
  takenHere.store(0);
}

} // namespace shardc::runtime
