//===- StageLinks.cpp - What a stage's devices send to other stages' ------===//
#include "runtime/artifact/check/TransferChecks.h"
#include "runtime/stage/Stage.h"

#include <algorithm>

namespace shardc::runtime {

Status Stage::linkStages(DeviceLinks &all) {
  links = &all;
  return onAllRanks(&Stage::linkRank, Step::RunsKernels);
}

const artifact::Program &Stage::programOf(int stage, size_t profile) const {
  return artifact.program(artifact.programsOf(stage)[profile]);
}

/// Whether transfers of a profile may go over a link. Both stages say the same.
bool Stage::mayLink(const StagePair &stages, size_t profile) const {
  return isInOrder(programOf(stages[0], profile), stages[0],
                   programOf(stages[1], profile), stages[1]);
}

/// The stages of a send or receive, sender first.
Stage::StagePair Stage::stagesOf(const TransferEnd &end) const {
  return end.isSend ? StagePair{place.stage, end.stage}
                    : StagePair{end.stage, place.stage};
}

bool Stage::hasLinks() const {
  return std::any_of(ranks.begin(), ranks.end(), [](const RankState &rank) {
    return std::any_of(rank.links.begin(), rank.links.end(),
                       [](const auto &link) { return link.second != nullptr; });
  });
}

Status Stage::drainLinks() {
  return hasLinks() ? onAllRanks(&Stage::drainRank, Step::RunsKernels)
                    : Status::ok();
}

Status Stage::drainRank(int rank) {
  for (auto &[stages, link] : ranks[static_cast<size_t>(rank)].links)
    if (link)
      SHARDC_RETURN_IF_ERROR(link->drain());
  return Status::ok();
}

Status Stage::restartLinks() {
  return hasLinks() ? onAllRanks(&Stage::restartRank, Step::RunsKernels)
                    : Status::ok();
}

Status Stage::restartRank(int rank) {
  for (auto &[stages, link] : ranks[static_cast<size_t>(rank)].links)
    if (link)
      SHARDC_RETURN_IF_ERROR(links->restart(
          endsOf(stages, rank), stages[0] == place.stage ? 0 : 1, *link));
  return Status::ok();
}

std::array<int, 2> Stage::endsOf(const StagePair &stages, int rank) const {
  return {artifact.worldRank(place.replica, stages[0], rank),
          artifact.worldRank(place.replica, stages[1], rank)};
}

/// Where devices cannot be linked, values go by way of the host.
Status Stage::linkRank(int rank) {
  RankState &mine = ranks[static_cast<size_t>(rank)];
  if (mine.device->isHost())
    return Status::ok();
  auto forEachTransfer = [&](auto visit) {
    for (size_t p = 0; p < programs.size(); ++p)
      for (uint32_t i = 0; i < programs[p]->program->run()->size(); ++i)
        if (auto end = transferOf(*programs[p]->program->run()->Get(i)))
          visit(p, i, stagesOf(*end));
  };
  forEachTransfer([&](size_t profile, uint32_t, const StagePair &stages) {
    if (mayLink(stages, profile))
      mine.links.try_emplace(stages);
  });
  for (auto &[stages, link] : mine.links)
    SHARDC_RETURN_IF_ERROR(links->create(endsOf(stages, rank),
                                         stages[0] == place.stage ? 0 : 1,
                                         *mine.device, *mine.stream, link));
  forEachTransfer([&](size_t profile, uint32_t i, const StagePair &stages) {
    RankProgram &own = programs[profile]->ranks[static_cast<size_t>(rank)];
    auto found = mine.links.find(stages);
    const bool isLinked =
        found != mine.links.end() && found->second && mayLink(stages, profile);
    own.deviceChannels.push_back(
        isLinked ? found->second->createChannel(
                       *own.channels[i],
                       StageChannels::numSlots(stages[0], stages[1]))
                 : stageChannel(*own.channels[i], *mine.device, *mine.stream));
    own.channels[i] = own.deviceChannels.back().get();
  });
  return Status::ok();
}

} // namespace shardc::runtime
