//===- StageFeeds.cpp - Weights that come beside the first runs -----------===//
#include "runtime/base/Message.h"
#include "runtime/launch/HostThreads.h"
#include "runtime/stage/Stage.h"

#include <algorithm>
#include <unistd.h>

namespace shardc::runtime {

static int64_t hostMemoryBytes() {
  return sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

/// See WeightArrivals.h.
uint64_t Stage::firstStep(int stage, size_t profile) const {
  const std::vector<size_t> numbers = artifact.programsOf(stage);
  uint64_t step = 0;
  for (size_t p = 0; p < profile; ++p)
    step += numSteps(artifact.program(numbers[p]));
  return step;
}

/// The weight that a slice is, or the first of those that are joined in it.
static const artifact::Weight &weightAt(const artifact::Program &program,
                                        size_t slice) {
  const auto number = static_cast<uint32_t>(slice);
  const uint32_t count = program.weights()->size();
  return *program.weights()->Get(
      number < count ? number
                     : program.joins()->Get(number - count)->weights()->Get(0));
}

WeightFeedPlace Stage::feedPlaceOf(int rank) const {
  const RankState &mine = ranks[static_cast<size_t>(rank)];
  WeightFeedPlace feed;
  feed.stage = place.stage;
  feed.rank = static_cast<size_t>(
      std::find(localRanks.begin(), localRanks.end(), rank) -
      localRanks.begin());
  feed.text = artifact.rankText(worldRank(rank));
  feed.hostThreads = std::max(1, hostCores() / artifact.worldSize());
  // What does not stay in memory is best read when it is used.
  feed.readsFiles =
      options.loadsBeside && mine.weights.mappedBytes < hostMemoryBytes() / 2;
  feed.measures = options.measure;
  auto profileOf = [this](uint64_t end) {
    size_t profile = 0;
    while (firstStep(place.stage, profile + 1) < end)
      ++profile;
    return profile;
  };
  feed.name = [this, profileOf](const ComingSlice &slice, uint64_t end) {
    return weightAt(*programs[profileOf(end)]->program, slice.number)
        .name()
        ->str();
  };
  feed.describe = [this, profileOf](const ComingSlice &slice, uint64_t end) {
    const size_t profile = profileOf(end);
    const artifact::Program &program = *programs[profile]->program;
    const artifact::Weight &weight = weightAt(program, slice.number);
    const uint64_t index = slice.step - firstStep(place.stage, profile);
    std::string reader;
    if (index < program.run()->size()) {
      const auto *by = program.run()->Get(static_cast<uint32_t>(index));
      reader = message(", which ", by->kernel()->c_str(), " at node '",
                       by->node() ? by->node()->c_str() : "", "' reads");
    }
    return message("weight ", weight.name()->c_str(), " in ",
                   artifact.manifest().files[weight.file()].path, reader);
  };
  return feed;
}

Status Stage::startFeed(int rank) {
  RankState &mine = ranks[static_cast<size_t>(rank)];
  WeightFeedPlace feed = feedPlaceOf(rank);
  if (options.onWeight)
    feed.onWeight = [this, world = worldRank(rank)](const std::string &name) {
      options.onWeight(world, name);
    };
  feed.check = [this, rank, &mine] {
    // A device has its own copies of what was packed.
    if (mine.staging)
      mine.weights.freePacked();
    return mine.weights.copied.empty()
               ? Status::ok()
               : artifact.checkCopiedWeights(weightsRank(rank),
                                             mine.weights.copiedFile);
  };
  mine.feed = std::make_unique<WeightFeed>(mine.deviceWeights, *mine.device,
                                           *arrivals, std::move(feed));
  mine.gate.join(*arrivals, *mine.feed);
  return mine.feed->start();
}

/// Before a run of the active program. What was copied is checked as a whole.
void Stage::openGate(int rank) {
  size_t profile = 0;
  while (programs[profile].get() != active)
    ++profile;
  std::vector<uint64_t> ends;
  for (int stage = 0; stage < artifact.numStages(); ++stage)
    ends.push_back(artifact.manifest().copiesWeights
                       ? WeightArrivals::kAll
                       : firstStep(stage, profile + 1));
  ranks[static_cast<size_t>(rank)].gate.open(
      place.stage, firstStep(place.stage, profile), std::move(ends));
}

std::vector<std::span<const WeightTiming>> Stage::weightTimings() const {
  std::vector<std::span<const WeightTiming>> all(ranks.size());
  for (size_t r = 0; r < ranks.size(); ++r)
    if (ranks[r].feed && arrivals->isComplete())
      all[r] = ranks[r].feed->timings();
  return all;
}

} // namespace shardc::runtime
