#include "runtime/transport/Stream.h"

#include "runtime/base/Message.h"
#include "runtime/transport/StreamNumbers.h"
#include "runtime/transport/Transport.h"

#include <cstring>

namespace shardc::runtime {

bool Stream::isOfRequests() const {
  return number != kCommandStream && number != kControlStream;
}

Status Stream::prepare(int64_t bytes, std::byte *&memory,
                       std::optional<Deadline> deadline) {
  SHARDC_RETURN_IF_ERROR(
      transport.wait([this] { return hasSlot(); }, deadline, isOfRequests()));
  memory = slotFor(bytes);
  return memory ? Status::ok()
                : artifactError("out of memory for ", bytes,
                                " bytes that are sent to ",
                                transport.rankText(peer));
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

} // namespace shardc::runtime
