#include "runtime/stage/StageChannels.h"

namespace shardc::runtime {

StageChannel &StageChannels::between(size_t profile, int64_t transfer,
                                     const Ends &ends) {
  const auto slots = static_cast<uint32_t>(transferSlots(ends.from, ends.to));
  const Key key{profile, transfer, ends.fromRank};
  if (!world.transport) {
    auto &box = boxes[key];
    if (!box)
      box = std::make_unique<ThreadChannel>(
          slots, ChannelEnd{ends.sender, ends.fromRank},
          ChannelEnd{ends.receiver, ends.toRank});
    return *box;
  }
  auto &channel = channels[key];
  if (!channel) {
    // Both ends count alike: profiles are few.
    constexpr uint32_t kMaxProfiles = 256;
    const auto number = static_cast<uint32_t>(transfer) * kMaxProfiles +
                        static_cast<uint32_t>(profile);
    const int other = world.holds(ends.fromRank) ? ends.toRank : ends.fromRank;
    channel = std::make_unique<NetworkChannel>(
        *world.transport,
        world.transport->stream(other, world.firstStream + number,
                                {.slots = slots, .isOneWay = true}));
  }
  return *channel;
}

void StageChannels::abort(const Status &status) {
  for (auto &[key, box] : boxes)
    box->abort(status);
}

void StageChannels::reset() {
  for (auto &[key, box] : boxes)
    box->reset();
}

} // namespace shardc::runtime
