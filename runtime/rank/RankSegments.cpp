//===- RankSegments.cpp - A segment, bound and launched -------------------===//
#include "runtime/rank/Rank.h"
#include "runtime/runner/SegmentCapture.h"

#include <algorithm>

namespace shardc::runtime {

PlanContext Rank::contextOf(size_t segment) const {
  const LoadedProgram &facts = active->loaded;
  return {*facts.program,
          *facts.program->run(),
          facts.run.list[segment],
          facts.run.carried,
          facts.run.arenaPlace,
          facts.partitions,
          active->scalars,
          facts.dependence,
          ownDevice->isHost() ? shape->inputs.windows()
                              : std::span<const char>()};
}

/// Sizes that the run bound since may differ from those of the last time.
Status Rank::prepareSegment(size_t number) {
  SegmentPlan &segment = shape->segments[number];
  const std::vector<uint32_t> &needed = active->loaded.run.list[number].symbols;
  if (segment.isReady &&
      std::all_of(needed.begin(), needed.end(), [&](uint32_t symbol) {
        return segment.symbols[symbol] == symbols[symbol];
      }))
    return Status::ok();
  segment.symbols = symbols;
  return bindPlan(number, segment);
}

/// Where it was bound to other sizes, what they changed is bound again.
Status Rank::bindPlan(size_t number, SegmentPlan &segment) {
  struct Planning {
    explicit Planning(std::atomic<bool> &plans) : plans(plans) { plans = true; }
    ~Planning() { plans = false; }
    std::atomic<bool> &plans;
  } const planning(progress.plans);
  segment.isReady = false;
  const PlanContext context = contextOf(number);
  const RankResources resources = resourcesOf(*active);
  ArenaMemo &memo = active->arenas[number];
  Status status = segment.plan.isBound()
                      ? segment.plan.rebind(context, resources, memo)
                      : segment.plan.prepare(context, resources, memo);
  if (!status.isOk()) {
    segment.plan = RankPlan();
    segment.graph = SegmentGraph();
  }
  segment.graph.rebound();
  segment.isReady = status.isOk();
  return status;
}

/// Communicators know where it is, and that it goes.
Status Rank::growArena(int64_t bytes) {
  if (arena.data() && arena.size() < bytes) {
    SHARDC_RETURN_IF_ERROR(ownStream->synchronize());
    for (const auto &own : programs)
      for (const auto &communicator : own->communicators)
        if (communicator)
          SHARDC_RETURN_IF_ERROR(communicator->useMemory(nullptr, 0));
  }
  SHARDC_RETURN_IF_ERROR(
      growBuffer(arena, bytes, "intermediate values", /*keep=*/false));
  for (const auto &communicator : active->communicators)
    if (communicator)
      SHARDC_RETURN_IF_ERROR(
          communicator->useMemory(arena.data(), arena.size()));
  return Status::ok();
}

Status Rank::bindSegment(RankPlan &plan) {
  SHARDC_RETURN_IF_ERROR(growArena(plan.arenaBytes()));
  for (const RankPlan::CarriedNeed &need : plan.carriedNeeds()) {
    const artifact::Buffer *buffer =
        active->program().buffers()->Get(need.buffer);
    if (step->state && buffer->kind() == artifact::BufferKind_Cache) {
      active->carriedAt[need.buffer] =
          step->state->presentOf(place.rank, buffer->source());
      continue;
    }
    DeviceBuffer &memory = active->carried[need.buffer];
    // Half as much again: rows that a loop adds one by one are copied seldom.
    int64_t bytes = need.bytes;
    if (memory.size() > 0 && memory.size() < bytes)
      bytes = std::max(bytes, memory.size() / 2 * 3);
    SHARDC_RETURN_IF_ERROR(
        growBuffer(memory, bytes, "intermediate values", /*keep=*/true));
    active->carriedAt[need.buffer] = memory.data();
  }
  plan.bindArena(arena.data());
  plan.bindCarried(active->carriedAt);
  for (size_t i = 0; i < inputs.size(); ++i)
    plan.bindInput(i, inputs[i]);
  return Status::ok();
}

Status Rank::runSegment(size_t &number) {
  SHARDC_RETURN_IF_ERROR(prepareSegment(number));
  RankPlan &plan = shape->segments[number].plan;
  SHARDC_RETURN_IF_ERROR(bindSegment(plan));
  const Status ran = launchSegment(shape->segments[number]);
  progress.leave();
  SHARDC_RETURN_IF_ERROR(ran);
  const Segment &segment = active->loaded.run.list[number];
  number = segment.next;
  switch (segment.ends) {
  case HostInstruction::ReadSizes:
    return readSizes(plan.instructions().back());
  case HostInstruction::SetSizes:
    setSizes(plan.instructions().back());
    return evaluateSizes();
  case HostInstruction::If:
  case HostInstruction::Loop: {
    bool holds = false;
    SHARDC_RETURN_IF_ERROR(readCondition(plan.instructions().back(), holds));
    if (!holds)
      number = segment.otherwise;
    return Status::ok();
  }
  default:
    return Status::ok();
  }
}

//===----------------------------------------------------------------------===//
// Launched, captured or replayed
//===----------------------------------------------------------------------===//

/// What decides on this is the same on all ranks.
bool Rank::mayCapture() const {
  return place.options.graphs && !place.options.measure &&
         !place.options.checkReplicas && ownStream->canCapture();
}

static void count(LaunchMode mode, LaunchStats &stats) {
  switch (mode) {
  case LaunchMode::Plain:
    ++stats.launched;
    break;
  case LaunchMode::Capture:
    ++stats.captured;
    break;
  case LaunchMode::Update:
    ++stats.updated;
    break;
  case LaunchMode::Replay:
    ++stats.replayed;
    break;
  }
}

/// What is to be replayed is there afterwards, if `mode` says so.
Status Rank::prepareGraph(SegmentPlan &segment, const RunControl &control,
                          LaunchMode &mode) {
  SegmentGraph &graph = segment.graph;
  const MemoryPlacement placement{
      moves, step->state ? step->state->placement() : 0, step->inputPlacement};
  mode = mayCapture() ? graph.choose(placement) : LaunchMode::Plain;
  if (mode == LaunchMode::Update) {
    const std::vector<size_t> changed = graph.findChanged(segment.plan);
    bool isUpdated = false;
    SHARDC_RETURN_IF_ERROR(updateTogether(segment.plan, place.worldRank(),
                                          control, changed, graph.graphs(),
                                          isUpdated));
    if (isUpdated) {
      graph.updated(segment.plan, changed, placement);
      return Status::ok();
    }
    graph.drop();
    mode = graph.choose(placement);
  }
  if (mode == LaunchMode::Capture) {
    std::vector<CapturedStretch> made;
    SHARDC_RETURN_IF_ERROR(
        captureTogether(segment.plan, place.worldRank(), control, made));
    if (made.empty()) {
      graph.refuse();
      mode = LaunchMode::Plain;
    } else
      graph.captured(std::move(made), segment.plan, placement);
  }
  if (mode == LaunchMode::Replay)
    graph.replayed();
  return Status::ok();
}

Status Rank::launchSegment(SegmentPlan &segment) {
  RunControl control = controlOf(shape->timings);
  const bool isNew = segment.graph.isNewlyBound();
  if (isNew)
    ++moves;
  LaunchMode mode = LaunchMode::Plain;
  SHARDC_RETURN_IF_ERROR(prepareGraph(segment, control, mode));
  // Other sizes may take other kernels; graphs load theirs before they run.
  control.settles = isNew && mode == LaunchMode::Plain && place.hasOthers &&
                    ownStream->canCapture();
  SHARDC_RETURN_IF_ERROR(runInstructions(segment.plan, place.worldRank(),
                                         control, segment.graph.graphs()));
  segment.graph.hasRunOnce();
  count(mode, launches);
  return Status::ok();
}

} // namespace shardc::runtime
