#include "runtime/stage/Stage.h"

#include "runtime/artifact/check/TransferChecks.h"
#include "runtime/base/Message.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>

namespace shardc::runtime {

Stage::~Stage() {
  for (const auto &rank : ranks)
    rank->stopFeed(); // its thread looks at what goes before the ranks
  if (describes)
    place.world.transport->describe({});
}

bool Stage::hasCaches() const {
  const auto *caches = programs[0]->program->caches();
  return caches && caches->size() > 0;
}

bool Stage::usesInput(size_t input) const {
  return std::any_of(programs.begin(), programs.end(), [&](const auto &loaded) {
    return loaded->usesInput[input] != 0;
  });
}

Status Stage::createState(int64_t capacity,
                          std::shared_ptr<CacheState> &created) {
  std::vector<Device *> devices(static_cast<size_t>(numRanks()));
  for (const auto &rank : ranks)
    devices[static_cast<size_t>(rank->place.rank)] = &rank->device();
  created = std::make_shared<CacheState>(*programs[0]->program,
                                         std::move(devices), capacity);
  return Status::ok();
}

static bool anyHasLinks(std::span<const std::unique_ptr<Rank>> ranks) {
  return std::any_of(ranks.begin(), ranks.end(),
                     [](const auto &rank) { return rank->hasLinks(); });
}

Status Stage::drainLinks() {
  return anyHasLinks(ranks)
             ? onAllRanks(Job::RunsKernels,
                          [](Rank &rank) { return rank.drainLinks(); })
             : Status::ok();
}

Status Stage::restartLinks() {
  return anyHasLinks(ranks)
             ? onAllRanks(Job::RunsKernels,
                          [](Rank &rank) { return rank.restartLinks(); })
             : Status::ok();
}

Status Stage::takeActivities() {
  std::lock_guard lock(mutex);
  for (const auto &rank : ranks)
    SHARDC_RETURN_IF_ERROR(rank->takeActivities());
  return Status::ok();
}

Status Stage::measureLimits(std::vector<DeviceLimits> &all) {
  SHARDC_RETURN_IF_ERROR(onAllRanks(
      Job::RunsKernels, [](Rank &rank) { return rank.measureLimits(); }));
  for (const auto &rank : ranks)
    all.push_back(rank->deviceLimits());
  return Status::ok();
}

std::vector<const RankShapePlan *> Stage::lastPlans() const {
  std::vector<const RankShapePlan *> plans;
  for (const auto &rank : ranks)
    if (const RankShapePlan *plan =
            last ? rank->planOf(lastProfile, last->slot) : nullptr)
      plans.push_back(plan);
  return plans;
}

RankMemory Stage::memoryOf(const Rank &rank) const {
  const WeightSlices &weights = rank.weightSlices();
  RankMemory memory{rank.place.worldRank(),
                    weights.mappedBytes + weights.packedBytes,
                    weights.packedBytes, rank.loadedBytes(), rank.arenaBytes()};
  memory.arrangedBytes = rank.arrangedBytes();
  if (last)
    for (const SegmentPlan &segment :
         rank.planOf(lastProfile, last->slot)->segments)
      memory.valueBytes =
          std::max(memory.valueBytes, segment.plan.valueBytes());
  return memory;
}

//===----------------------------------------------------------------------===//
// Who does what, for messages
//===----------------------------------------------------------------------===//

std::string Stage::describeRank(int worldRank) const {
  std::string text = artifact.rankText(worldRank);
  for (const auto &rank : ranks)
    if (rank->place.worldRank() == worldRank)
      text.append(1, ' ').append(describePlace(rank->progress));
  return text;
}

/// "in MatMul at node '/up', before all_reduce at node '/down'", "between kernels"
std::string Stage::describePlace(const RankProgress &progress) const {
  const artifact::Instruction *at =
      progress.current.load(std::memory_order_acquire);
  if (!at)
    return "between kernels";
  auto text = [](const artifact::Instruction &instruction) {
    return message(instruction.kernel()->string_view(), " at node '",
                   instruction.node() ? instruction.node()->string_view() : "",
                   "'");
  };
  auto meets = [](const artifact::Instruction &instruction) {
    return collectiveForm(instruction.kernel()->string_view()) ||
           transferOf(instruction);
  };
  if (meets(*at))
    return "in " + text(*at);
  for (const auto &loaded : programs)
    for (const auto *list : {loaded->program->run(), loaded->program->load()}) {
      uint32_t i = 0;
      while (i < list->size() && list->Get(i) != at)
        ++i;
      for (; i < list->size(); ++i)
        if (meets(*list->Get(i)))
          return message("in ", text(*at), ", before ", text(*list->Get(i)));
    }
  return "in " + text(*at);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

void Stage::runJob(Rank &rank) {
  // Nothing throws by design; running out of memory while planning may.
  try {
    rank.status = job(rank);
    // What a device still had to do may fail too, and nothing may outlive the
    // step that enqueued it.
    const Status done = rank.stream().synchronize();
    if (rank.status.isOk())
      rank.status = done;
  } catch (const std::exception &error) {
    rank.status =
        artifactError("rank ", rank.place.worldRank(), ": ", error.what());
  } catch (...) {
    rank.status =
        artifactError("rank ", rank.place.worldRank(), ": a kernel threw");
  }
  // Whether inputs fit, and when a request ends, is no matter of a rank; what an
  // instruction makes of them is.
  const bool isOfRank = rank.status.code() == StatusCode::Artifact ||
                        rank.status.place().instruction >= 0;
  if (isOfRank && !place.world.hasFailed())
    rank.status =
        rank.status.at({.rank = rank.place.worldRank(), .stage = place.stage});
  if (!rank.status.isOk())
    failure.fail(rank.status);
}

Status Stage::checkAnswers() const {
  return stuck ? artifactError("a rank of this session no longer answers; open "
                               "the artifact again")
               : Status::ok();
}

Status Stage::onAllRanks(Job kind, std::function<Status(Rank &)> newJob) {
  SHARDC_RETURN_IF_ERROR(checkAnswers());
  failure.reset();
  if (place.world.hasFailed())
    return place.world.failure();
  if (runEnd && runEnd->hasCome())
    return runEnd->status();
  job = std::move(newJob);
  // A rank that hangs must not hang its caller: it gets as long as a collective
  // would wait for it. Less where nothing comes after the error.
  constexpr std::chrono::milliseconds kLostGrace{2000};
  auto grace = [&] {
    return place.world.isLost() ? std::min(options.timeout, kLostGrace)
                                : options.timeout;
  };
  // No rank is given up while one plans or uses its caller's memory, and the
  // time of all of them begins anew when it has: it may have no more than an
  // instant behind it when it is looked at next.
  auto isBusy = [](const auto &rank) {
    return CallersMemory::isHeld(rank->progress) || rank->progress.plans.load();
  };
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> waitsSince;
  auto giveUp = [&] {
    if (kind != Job::RunsKernels || !failure.failed())
      return false;
    if (!waitsSince || std::any_of(ranks.begin(), ranks.end(), isBusy))
      waitsSince = Clock::now();
    return Clock::now() - *waitsSince > grace();
  };
  stuck = !threads.run(call, giveUp);
  const Status status = failure.status();
  return stuck ? artifactError(
                     status.message(),
                     " (a rank no longer answers; open the artifact again)")
                     .at(status.place())
               : status;
}

} // namespace shardc::runtime
