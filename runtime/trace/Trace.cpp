#include "runtime/trace/Trace.h"

#include "runtime/artifact/ElementNames.h"
#include "runtime/base/AtomicFile.h"
#include "runtime/base/Message.h"
#include "runtime/stage/Statistics.h"
#include "runtime/trace/Work.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace shardc::runtime {
namespace {

using Json = nlohmann::json;

Json operandTexts(const TensorView *views, int count) {
  Json texts = Json::array();
  for (int i = 0; i < count; ++i)
    texts.push_back(views[i].rank < 0
                        ? std::string("-")
                        : artifact::elementName(views[i].element) +
                              dimsText(views[i]));
  return texts;
}

/// Whether something runs beside it.
bool isInFlight(const BoundInstruction &instruction) {
  return instruction.flight >= 0 && instruction.collective >= 0;
}

Json sliceOf(const BoundInstruction &instruction,
             const InstructionTiming &timing, int track, int64_t origin) {
  const KernelCall &call = instruction.call;
  Json args = {{"node", std::string(instruction.node)},
               {"inputs", operandTexts(call.inputs, call.numInputs)},
               {"outputs", operandTexts(call.outputs, call.numOutputs)}};
  return {{"name", std::string(instruction.name)},
          {"cat", instruction.collective >= 0 ? "collective"
                  : instruction.awaits        ? "wait"
                  : instruction.channel       ? "transfer"
                                              : "kernel"},
          {"ph", "X"},
          {"pid", 0},
          {"tid", track},
          {"ts", static_cast<double>(timing.begin - origin) / 1000},
          {"dur", static_cast<double>(timing.end - timing.begin) / 1000},
          {"args", std::move(args)}};
}

Json trackName(int track, const std::string &name) {
  return {{"name", "thread_name"},
          {"ph", "M"},
          {"pid", 0},
          {"tid", track},
          {"args", {{"name", name}}}};
}

/// What a device has noted: a track of its kernels and copies.
void addActivities(const Artifact &artifact, int rank,
                   const RankShapePlan &plan, int64_t origin, Json &events) {
  const int track = 2 * artifact.worldSize() + rank;
  events.push_back(
      trackName(track, artifact.rankText(rank) + ": kernels and copies"));
  std::vector<std::string_view> nodes(plan.timings.size());
  plan.forEachInstruction(
      [&](const RankPlan &, const BoundInstruction &instruction) {
        nodes[instruction.index] = instruction.node;
      });
  for (const DeviceActivity &activity : plan.activities)
    events.push_back(
        {{"name", activity.name},
         {"cat", "device"},
         {"ph", "X"},
         {"pid", 0},
         {"tid", track},
         {"ts", static_cast<double>(activity.begin - origin) / 1000},
         {"dur", static_cast<double>(activity.end - activity.begin) / 1000},
         {"args", {{"node", std::string(nodes[activity.tag])}}}});
}

/// What came before the run is none of its.
void addWeights(const Artifact &artifact, int rank,
                std::span<const WeightTiming> weights, int64_t origin,
                Json &events) {
  const int track = 3 * artifact.worldSize() + rank;
  bool isNamed = false;
  for (const WeightTiming &weight : weights) {
    if (weight.end <= origin)
      continue;
    if (!isNamed)
      events.push_back(trackName(track, artifact.rankText(rank) + ": weights"));
    isNamed = true;
    const int64_t begin = std::max(weight.begin, origin);
    events.push_back({{"name", weight.name},
                      {"cat", "weight"},
                      {"ph", "X"},
                      {"pid", 0},
                      {"tid", track},
                      {"ts", static_cast<double>(begin - origin) / 1000},
                      {"dur", static_cast<double>(weight.end - begin) / 1000}});
  }
}

/// A rank's instructions are one track, its collectives in flight another. They
/// are done in their order: one begins when those before it are over.
void addTracks(const Artifact &artifact, int rank, const RankShapePlan &plan,
               int64_t origin, Json &events) {
  events.push_back(trackName(rank, artifact.rankText(rank)));
  const int beside = artifact.worldSize() + rank;
  bool hasFlights = false;
  int64_t landed = 0;
  plan.forEachInstruction(
      [&](const RankPlan &, const BoundInstruction &instruction) {
        InstructionTiming timing = plan.timings[instruction.index];
        const bool flies = isInFlight(instruction) && timing.hasRun();
        if (flies) {
          timing.begin = std::max(timing.begin, landed);
          landed = timing.end = std::max(timing.end, timing.begin);
        }
        if (!timing.hasRun())
          return; // a device has nothing to do for it
        hasFlights |= flies;
        events.push_back(
            sliceOf(instruction, timing, flies ? beside : rank, origin));
      });
  if (hasFlights)
    events.push_back(
        trackName(beside, artifact.rankText(rank) + ": collectives in flight"));
  if (!plan.activities.empty())
    addActivities(artifact, rank, plan, origin, events);
}

int64_t firstBegin(const RankShapePlan &plan) {
  int64_t origin = INT64_MAX;
  for (const InstructionTiming &timing : plan.timings)
    if (timing.hasRun())
      origin = std::min(origin, timing.begin);
  return origin;
}

} // namespace

Status writeTrace(const std::string &path, const Artifact &artifact,
                  std::span<const RankTrace> ranks) {
  Json events = Json::array();
  int64_t origin = INT64_MAX;
  for (const RankTrace &rank : ranks)
    origin = std::min(origin, firstBegin(rank.plan));
  for (const RankTrace &rank : ranks) {
    addTracks(artifact, rank.worldRank, rank.plan, origin, events);
    addWeights(artifact, rank.worldRank, rank.weights, origin, events);
  }
  Json trace = {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
  return writeFileAtomically(
      path, trace.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::vector<InstructionProfile>
profileInstructions(std::span<const RankShapePlan *const> ranks, int runs,
                    bool hasFirst) {
  std::vector<InstructionProfile> profile;
  if (ranks.empty() || ranks[0]->timings.empty())
    return profile;
  ranks[0]->forEachInstruction(
      [&](const RankPlan &, const BoundInstruction &instruction) {
        double total = 0;
        for (const RankShapePlan *rank : ranks)
          total += static_cast<double>(rank->timings[instruction.index].total);
        const Work work = instruction.awaits
                              ? Work()
                              : workOf(instruction.name, instruction.call);
        profile.push_back({std::string(instruction.name),
                           std::string(instruction.node),
                           instruction.collective >= 0,
                           total / 1e6 / static_cast<double>(ranks.size()),
                           work.bytes, work.multiplyAdds, runs, hasFirst});
      });
  return profile;
}

} // namespace shardc::runtime
