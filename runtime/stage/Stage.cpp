#include "runtime/stage/Stage.h"

#include "runtime/artifact/check/TransferChecks.h"
#include "runtime/base/Message.h"
#include "runtime/collectives/net/NetworkCommunicator.h"
#include "runtime/device/Roofline.h"
#include "runtime/launch/HostThreads.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <exception>

namespace shardc::runtime {

Stage::Stage(const Artifact &artifact, const StagePlace &place,
             const SessionOptions &options)
    : artifact(artifact), place(place), options(options),
      failure(options.timeout,
              [this](int worldRank) { return describeRank(worldRank); }) {}

Status Stage::open(const Artifact &artifact, const StagePlace &place,
                   StageChannels &stageChannels, const SessionOptions &options,
                   std::unique_ptr<Stage> &stage) {
  std::unique_ptr<Stage> opened(new Stage(artifact, place, options));
  Status status = opened->start(stageChannels);
  if (status.isOk())
    stage = std::move(opened);
  else if (opened->isStuck())
    stage = std::move(opened); // a thread still uses it, and what it is in
  return status;
}

Status Stage::start(StageChannels &stageChannels) {
  ranks = std::vector<RankState>(static_cast<size_t>(artifact.stageSize()));
  for (int rank = 0; rank < numRanks(); ++rank)
    if (place.world.holds(worldRank(rank)))
      localRanks.push_back(rank);
  for (size_t number : artifact.programsOf(place.stage))
    programs.push_back(std::make_unique<LoadedProgram>(artifact.program(number),
                                                       number, ranks.size()));
  findChannels(stageChannels);
  stageChannels.watch([this] {
    uint64_t steps = 0;
    for (const RankState &rank : ranks)
      steps += rank.progress.steps.load(std::memory_order_relaxed);
    return steps;
  });
  failure.progress = [&stageChannels] { return stageChannels.progress(); };
  active = programs.front().get();
  inputInfos = describeInputs(program());
  SHARDC_RETURN_IF_ERROR(checkPorts());
  // Sizes are told as the last one has them, which is for the most requests.
  inputInfos = describeInputs(*programs.back()->program);
  orderedInputs.resize(inputInfos.size());
  for (RankState &state : ranks)
    state.inputs.resize(inputInfos.size());
  for (int rank : localRanks)
    SHARDC_RETURN_IF_ERROR(openDevice(rank));
  SHARDC_RETURN_IF_ERROR(createGroups());
  SHARDC_RETURN_IF_ERROR(createWorld());
  const int kernelThreads =
      place.world.transport ? place.world.transport->kernelThreads()
                            : std::max(1, hostCores() / artifact.worldSize());
  SHARDC_RETURN_IF_ERROR(
      threads.start(static_cast<int>(localRanks.size()),
                    [kernelThreads](int) { setHostThreads(kernelThreads); }));
  describeToOthers();
  return onAllRanks(&Stage::joinDeviceGroups, Step::RunsKernels);
}

Stage::~Stage() {
  for (RankState &rank : ranks)
    rank.feed.reset(); // its thread looks at what goes before the ranks
  if (describes)
    place.world.transport->describe({});
}

/// Whoever waits for this rank learns what it does, and it what they find.
void Stage::describeToOthers() {
  if (!place.world.transport || localRanks.empty())
    return;
  const RankProgress &mine = ranks[static_cast<size_t>(localRanks[0])].progress;
  describes = true;
  place.world.transport->describe(
      {[this](int rank) { return artifact.rankText(rank); },
       [this, &mine] { return describePlace(mine); },
       [&mine] { return mine.steps.load(std::memory_order_relaxed); },
       [this](const Status &status) { failure.fail(status); }});
}

void Stage::findChannels(StageChannels &stageChannels) {
  for (size_t profile = 0; profile < programs.size(); ++profile)
    for (int rank : localRanks)
      createChannels(stageChannels, profile, rank);
}

/// By instruction of `run`.
void Stage::createChannels(StageChannels &stageChannels, size_t profile,
                           int rank) {
  auto &channels = programs[profile]->ranks[static_cast<size_t>(rank)].channels;
  for (const artifact::Instruction *instruction :
       *programs[profile]->program->run()) {
    channels.push_back(nullptr);
    const std::optional<TransferEnd> end = transferOf(*instruction);
    if (!end)
      continue;
    const int from = end->isSend ? place.stage : end->stage;
    const int to = end->isSend ? end->stage : place.stage;
    auto rankOf = [&](int stage) {
      return artifact.worldRank(place.replica, stage, rank);
    };
    channels.back() = &stageChannels.between(
        profile, end->number,
        {from, to, rankOf(from), rankOf(to), artifact.rankText(rankOf(from)),
         artifact.rankText(rankOf(to))});
  }
}

std::vector<const artifact::Program *> Stage::allPrograms() const {
  std::vector<const artifact::Program *> all;
  for (const auto &loaded : programs)
    all.push_back(loaded->program);
  return all;
}

/// Profiles have the same inputs and caches.
Status Stage::checkPorts() const {
  auto cachesOf = [](const artifact::Program &program) {
    std::vector<std::array<int64_t, 3>> caches;
    if (program.caches())
      for (const artifact::CachePair *pair : *program.caches())
        caches.push_back({pair->input(),
                          program.outputs()->Get(pair->output())->index(),
                          pair->dim()});
    return caches;
  };
  for (const auto &other : programs)
    if (cachesOf(program()) != cachesOf(*other->program))
      return artifactError("its programs keep different caches");
    else if (!sameTypes(inputInfos, describeInputs(*other->program)))
      return artifactError("its programs have different inputs");
  return Status::ok();
}

static const char *const kNoMemory =
    "out of memory for the collectives' buffers";

std::vector<int> Stage::worldRanks(std::span<const int> members) const {
  std::vector<int> all(members.begin(), members.end());
  for (int &rank : all)
    rank = worldRank(rank);
  return all;
}

Status Stage::createGroups() {
  for (auto &loaded : programs)
    for (const artifact::Group *group : *loaded->program->groups()) {
      loaded->partitions.push_back(partitionRanks(*loaded->program, *group));
      for (const std::vector<int> &members : loaded->partitions.back().groups)
        SHARDC_RETURN_IF_ERROR(createGroup(*loaded, members));
    }
  return Status::ok();
}

Status Stage::createGroup(LoadedProgram &loaded,
                          const std::vector<int> &members) {
  if (place.world.transport) {
    for (int rank : members)
      if (place.world.holds(worldRank(rank)))
        loaded.ranks[static_cast<size_t>(rank)].communicators.push_back(
            std::make_unique<NetworkCommunicator>(
                *place.world.transport, worldRanks(members), options.timeout));
    return Status::ok();
  }
  loaded.sharedGroups.push_back(
      std::make_unique<SharedMemoryGroup>(worldRanks(members), failure));
  SharedMemoryGroup &shared = *loaded.sharedGroups.back();
  if (!shared.allocate())
    return artifactError(kNoMemory);
  for (size_t i = 0; i < members.size(); ++i)
    loaded.ranks[static_cast<size_t>(members[i])].communicators.push_back(
        shared.join(static_cast<int>(i)));
  return Status::ok();
}

Status Stage::createWorld() {
  if (!options.checkReplicas || numRanks() == 1)
    return Status::ok();
  std::vector<int> members;
  for (int rank = 0; rank < numRanks(); ++rank)
    members.push_back(worldRank(rank));
  if (place.world.transport) {
    for (int rank : localRanks)
      ranks[static_cast<size_t>(rank)].world =
          std::make_unique<NetworkCommunicator>(*place.world.transport, members,
                                                options.timeout);
    return Status::ok();
  }
  everyone = std::make_unique<SharedMemoryGroup>(members, failure);
  if (!everyone->allocate())
    return artifactError(kNoMemory);
  for (int rank = 0; rank < numRanks(); ++rank)
    ranks[static_cast<size_t>(rank)].world = everyone->join(rank);
  return Status::ok();
}

/// Replicas read the weights that were copied for the first one.
int Stage::weightsRank(int rank) const {
  return artifact.worldRank(/*replica=*/0, place.stage, rank);
}

RankResources Stage::resourcesOf(int rank) {
  const RankProgram &mine = active->ranks[static_cast<size_t>(rank)];
  RankState &state = ranks[static_cast<size_t>(rank)];
  return {rank,
          mine.fixedBuffers,
          mine.communicators,
          mine.channels,
          state.device,
          state.library.get(),
          state.device->isHost() ? &state.packed : nullptr};
}

Status Stage::measureRank(int rank) {
  RankState &mine = ranks[static_cast<size_t>(rank)];
  return runtime::measureLimits(*mine.device, *mine.stream, mine.limits);
}

Status Stage::measureLimits(std::vector<DeviceLimits> &all) {
  SHARDC_RETURN_IF_ERROR(onAllRanks(&Stage::measureRank, Step::RunsKernels));
  for (int rank : localRanks)
    all.push_back(ranks[static_cast<size_t>(rank)].limits);
  return Status::ok();
}

RankMemory Stage::memoryOf(int rank) const {
  const auto r = static_cast<size_t>(rank);
  const RankState &state = ranks[r];
  RankMemory memory{worldRank(rank),
                    state.weights.mappedBytes + state.weights.packedBytes,
                    state.weights.packedBytes, 0,
                    state.arena.size() + state.inputMemory.size()};
  memory.arrangedBytes = state.packed.bytes();
  if (last)
    for (const SegmentPlan &segment : last->ranks[r].segments)
      memory.valueBytes =
          std::max(memory.valueBytes, segment.plan.valueBytes());
  for (const DeviceBuffer &buffer : state.loaded)
    memory.loadedBytes += buffer.size();
  for (const auto &loaded : programs)
    for (const DeviceBuffer &buffer : loaded->ranks[r].carried)
      memory.arenaBytes += buffer.size();
  return memory;
}

std::string Stage::describeRank(int worldRank) const {
  std::string at;
  for (int rank : localRanks)
    if (this->worldRank(rank) == worldRank)
      at = " " + describePlace(ranks[static_cast<size_t>(rank)].progress);
  return artifact.rankText(worldRank) + at;
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

void Stage::runStep(int rank) {
  RankState &state = ranks[static_cast<size_t>(rank)];
  // Nothing throws by design; running out of memory while planning may.
  try {
    state.status = (this->*currentStep)(rank);
    // What a device still had to do may fail too, and nothing may outlive the
    // step that enqueued it.
    const Status done = state.stream->synchronize();
    if (state.status.isOk())
      state.status = done;
  } catch (const std::exception &error) {
    state.status = artifactError("rank ", rank, ": ", error.what());
  }
  if (!state.status.isOk())
    failure.fail(state.status);
}

Status Stage::onAllRanks(Status (Stage::*newStep)(int), Step kind) {
  if (stuck)
    return artifactError("a rank of this session no longer answers; open the "
                         "artifact again");
  failure.reset();
  if (place.world.hasFailed())
    return place.world.transport->failure();
  currentStep = newStep;
  // A rank that hangs must not hang its caller: it gets as long as a collective
  // would wait for it. A process ends sooner: nothing comes after the error.
  constexpr std::chrono::milliseconds kProcessGrace{2000};
  const auto grace = place.world.transport
                         ? std::min(options.timeout, kProcessGrace)
                         : options.timeout;
  using Clock = std::chrono::steady_clock;
  Clock::time_point failedAt = Clock::time_point::max();
  auto giveUp = [&] {
    if (failure.failed() && failedAt == Clock::time_point::max())
      failedAt = Clock::now();
    return kind == Step::RunsKernels && failedAt != Clock::time_point::max() &&
           Clock::now() - failedAt > grace &&
           std::none_of(ranks.begin(), ranks.end(), [](const RankState &rank) {
             return CallersMemory::isHeld(rank.progress);
           });
  };
  stuck = !threads.run(job, giveUp);
  if (stuck)
    return artifactError(
        failure.status().message(),
        " (a rank no longer answers; open the artifact again)");
  return failure.status();
}

} // namespace shardc::runtime
