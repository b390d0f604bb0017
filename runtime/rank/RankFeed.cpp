//===- RankFeed.cpp - Weights that come beside the first runs -------------===//
#include "runtime/base/Message.h"
#include "runtime/rank/Rank.h"

#include <unistd.h>

namespace shardc::runtime {

static int64_t hostMemoryBytes() {
  return sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

/// See WeightArrivals.h.
uint64_t Rank::firstStep(int stage, size_t profile) const {
  const std::vector<size_t> numbers = place.artifact.programsOf(stage);
  uint64_t first = 0;
  for (size_t p = 0; p < profile; ++p)
    first += numSteps(place.artifact.program(numbers[p]));
  return first;
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

WeightFeedPlace Rank::feedPlace() {
  WeightFeedPlace at;
  at.stage = place.stage;
  at.rank = place.nth;
  at.text = place.artifact.rankText(place.worldRank());
  at.worldRank = place.worldRank();
  at.hostThreads = place.kernelThreads();
  // What does not stay in memory is best read when it is used.
  at.readsFiles =
      place.options.loadsBeside && weights.mappedBytes < hostMemoryBytes() / 2;
  at.measures = place.options.measure;
  auto profileOf = [this](uint64_t end) {
    size_t profile = 0;
    while (firstStep(place.stage, profile + 1) < end)
      ++profile;
    return profile;
  };
  at.name = [this, profileOf](const ComingSlice &slice, uint64_t end) {
    return weightAt(programs[profileOf(end)]->program(), slice.number)
        .name()
        ->str();
  };
  at.describe = [this, profileOf](const ComingSlice &slice, uint64_t end) {
    const size_t profile = profileOf(end);
    const artifact::Program &program = programs[profile]->program();
    const artifact::Weight &weight = weightAt(program, slice.number);
    const uint64_t index = slice.step - firstStep(place.stage, profile);
    std::string reader;
    if (index < program.run()->size()) {
      const auto *by = program.run()->Get(static_cast<uint32_t>(index));
      reader = message(", which ", by->kernel()->c_str(), " at node '",
                       by->node() ? by->node()->c_str() : "", "' reads");
    }
    return message("weight ", weight.name()->c_str(), " in ",
                   place.artifact.manifest().files[weight.file()].path, reader);
  };
  if (place.options.onWeight)
    at.onWeight = [this](const std::string &name) {
      place.options.onWeight(place.worldRank(), name);
    };
  at.progress = place.options.progress;
  at.check = [this] {
    // A device has its own copies of what was packed.
    if (staging)
      weights.freePacked();
    return weights.copied.empty()
               ? Status::ok()
               : place.artifact.checkCopiedWeights(place.weightsRank(),
                                                   weights.copiedFile);
  };
  return at;
}

Status Rank::startFeed(WeightArrivals &all) {
  arrivals = &all;
  feed =
      std::make_unique<WeightFeed>(deviceWeights, *ownDevice, all, feedPlace());
  gate.join(all, *feed);
  return feed->start();
}

/// Before a run of a program. What was copied is checked as a whole.
void Rank::openGate(size_t profile) {
  std::vector<uint64_t> ends;
  for (int stage = 0; stage < place.artifact.numStages(); ++stage)
    ends.push_back(place.artifact.manifest().copiesWeights
                       ? WeightArrivals::kAll
                       : firstStep(stage, profile + 1));
  gate.open(place.stage, firstStep(place.stage, profile), std::move(ends));
}

std::span<const WeightTiming> Rank::weightTimings() const {
  return feed && arrivals->isComplete() ? feed->timings()
                                        : std::span<const WeightTiming>();
}

} // namespace shardc::runtime
