//===- RankLinks.cpp - What a rank's device sends to other stages' --------===//
#include "runtime/artifact/check/TransferChecks.h"
#include "runtime/rank/Rank.h"

#include <algorithm>

namespace shardc::runtime {

const artifact::Program &Rank::programOf(int stage, size_t profile) const {
  return place.artifact.program(place.artifact.programsOf(stage)[profile]);
}

/// Whether transfers of a profile may go over a link. Both stages say the same.
bool Rank::mayLink(const StagePair &stages, size_t profile) const {
  return isInOrder(programOf(stages[0], profile), stages[0],
                   programOf(stages[1], profile), stages[1]);
}

/// The stages of a send or receive, sender first.
Rank::StagePair Rank::stagesOf(const TransferEnd &end) const {
  return end.isSend ? StagePair{place.stage, end.stage}
                    : StagePair{end.stage, place.stage};
}

std::array<int, 2> Rank::endsOf(const StagePair &stages) const {
  return {place.artifact.worldRank(place.replica, stages[0], place.rank),
          place.artifact.worldRank(place.replica, stages[1], place.rank)};
}

bool Rank::hasLinks() const {
  return std::any_of(links.begin(), links.end(),
                     [](const auto &link) { return link.second != nullptr; });
}

Status Rank::drainLinks() {
  for (auto &[stages, link] : links)
    if (link)
      SHARDC_RETURN_IF_ERROR(link->drain());
  return Status::ok();
}

Status Rank::restartLinks() {
  for (auto &[stages, link] : links)
    if (link)
      SHARDC_RETURN_IF_ERROR(allLinks->restart(
          endsOf(stages), stages[0] == place.stage ? 0 : 1, *link));
  return Status::ok();
}

/// Where devices cannot be linked, values go by way of the host.
Status Rank::linkStages(DeviceLinks &all) {
  allLinks = &all;
  if (ownDevice->isHost())
    return Status::ok();
  auto forEachTransfer = [&](auto visit) {
    for (size_t p = 0; p < programs.size(); ++p)
      for (uint32_t i = 0; i < programs[p]->program().run()->size(); ++i)
        if (auto end = transferOf(*programs[p]->program().run()->Get(i)))
          visit(p, i, stagesOf(*end));
  };
  forEachTransfer([&](size_t profile, uint32_t, const StagePair &stages) {
    if (mayLink(stages, profile))
      links.try_emplace(stages);
  });
  for (auto &[stages, link] : links)
    SHARDC_RETURN_IF_ERROR(all.create(
        endsOf(stages), stages[0] == place.stage ? 0 : 1, *ownDevice,
        *ownStream, [this] { return place.moved(); }, link));
  forEachTransfer([&](size_t profile, uint32_t i, const StagePair &stages) {
    RankProgram &own = *programs[profile];
    auto found = links.find(stages);
    const bool isLinked =
        found != links.end() && found->second && mayLink(stages, profile);
    own.deviceChannels.push_back(
        isLinked ? found->second->createChannel(
                       *own.channels[i], transferSlots(stages[0], stages[1]))
                 : stageChannel(*own.channels[i], *ownDevice, *ownStream));
    own.channels[i] = own.deviceChannels.back().get();
  });
  return Status::ok();
}

} // namespace shardc::runtime
