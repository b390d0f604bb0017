//===- StageOpen.cpp - Ranks, whom they meet, and their weights -----------===//
#include "runtime/artifact/check/TransferChecks.h"
#include "runtime/base/Message.h"
#include "runtime/collectives/net/NetworkCommunicator.h"
#include "runtime/launch/LoadProgress.h"
#include "runtime/plan/InputTables.h"
#include "runtime/stage/Stage.h"

#include <algorithm>
#include <array>

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
  for (size_t number : artifact.programsOf(place.stage)) {
    programs.push_back(std::make_unique<LoadedProgram>(
        artifact.program(number), number, programs.size(), numRanks()));
    const LoadedProgram &loaded = *programs.back();
    own.push_back(std::unique_ptr<StageProgram>(new StageProgram{
        StageScalars(*loaded.program, loaded.coordinates, /*rank=*/0),
        {},
        {}}));
  }
  findRanks();
  findChannels(stageChannels);
  stageChannels.watch([this] {
    uint64_t steps = 0;
    for (const auto &rank : ranks)
      steps += rank->progress.steps.load(std::memory_order_relaxed);
    return steps;
  });
  failure.progress = [&stageChannels] { return stageChannels.progress(); };
  active = programs.front().get();
  inputInfos = describeInputs(program());
  SHARDC_RETURN_IF_ERROR(checkPorts());
  // Sizes are told as the last one has them, which is for the most requests.
  inputInfos = describeInputs(*programs.back()->program);
  const std::vector<int64_t> rows = rowsOfTables(*programs.back()->program);
  for (size_t i = 0; i < inputInfos.size(); ++i)
    inputInfos[i].numRows = rows[i];
  step.inputs.resize(inputInfos.size());
  for (const auto &rank : ranks)
    SHARDC_RETURN_IF_ERROR(rank->openDevice());
  SHARDC_RETURN_IF_ERROR(createGroups());
  SHARDC_RETURN_IF_ERROR(createWorld());
  SHARDC_RETURN_IF_ERROR(threads.start(
      static_cast<int>(ranks.size()),
      [this, nodes = readHostNodes(readSystemText, allowedCpus())](int nth) {
        beginThread(*ranks[static_cast<size_t>(nth)], nodes);
      }));
  describeToOthers();
  return onAllRanks(Job::RunsKernels,
                    [](Rank &rank) { return rank.joinDeviceGroups(); });
}

/// Before its rank has memory there. What a launcher starts, it binds.
void Stage::beginThread(const Rank &rank, const std::vector<HostNode> &nodes) {
  const int threads = rank.place.kernelThreads();
  setHostThreads(threads);
  if (place.world.transport || !rank.device().isHost())
    return;
  const HostNode *node =
      nodeOfRank(nodes, rank.place.worldRank(), artifact.worldSize(), threads);
  if (node)
    bindToNode(*node); // else it is slower, no more
}

void Stage::findRanks() {
  std::vector<int> here;
  for (int rank = 0; rank < numRanks(); ++rank)
    if (place.world.holds(worldRank(rank)))
      here.push_back(rank);
  const int coreShare = shareOfCores(artifact.worldSize());
  for (size_t nth = 0; nth < here.size(); ++nth)
    ranks.push_back(std::make_unique<Rank>(
        RankPlace{artifact, options, failure, place.world, place.replica,
                  place.stage, here[nth], nth, here.size() > 1, coreShare},
        programs));
}

Rank *Stage::rankHere(int rank) const {
  auto found = std::find_if(ranks.begin(), ranks.end(), [&](const auto &each) {
    return each->place.rank == rank;
  });
  return found == ranks.end() ? nullptr : found->get();
}

/// Whoever waits for this rank learns what it does, and it what they find.
void Stage::describeToOthers() {
  if (!place.world.transport || ranks.empty())
    return;
  const RankProgress &mine = ranks[0]->progress;
  describes = true;
  place.world.transport->describe(
      {[this](int rank) { return artifact.rankText(rank); },
       [this, &mine] { return describePlace(mine); },
       [&mine] { return mine.steps.load(std::memory_order_relaxed); },
       [this](const Status &status) { failure.fail(status); }});
}

void Stage::findChannels(StageChannels &stageChannels) {
  for (size_t profile = 0; profile < programs.size(); ++profile)
    for (const auto &rank : ranks)
      addChannels(stageChannels, profile, *rank);
}

/// By instruction of `run`.
void Stage::addChannels(StageChannels &stageChannels, size_t profile,
                        Rank &rank) {
  for (const artifact::Instruction *instruction :
       *programs[profile]->program->run()) {
    const std::optional<TransferEnd> end = transferOf(*instruction);
    if (!end) {
      rank.addChannel(profile, nullptr);
      continue;
    }
    const int from = end->isSend ? place.stage : end->stage;
    const int to = end->isSend ? end->stage : place.stage;
    auto rankOf = [&](int stage) {
      return artifact.worldRank(place.replica, stage, rank.place.rank);
    };
    rank.addChannel(profile,
                    &stageChannels.between(profile, end->number,
                                           {from, to, rankOf(from), rankOf(to),
                                            artifact.rankText(rankOf(from)),
                                            artifact.rankText(rankOf(to))}));
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

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

static const char *const kNoMemory =
    "out of memory for the collectives' buffers";

std::vector<int> Stage::worldRanks(std::span<const int> members) const {
  std::vector<int> all(members.begin(), members.end());
  for (int &rank : all)
    rank = worldRank(rank);
  return all;
}

Status Stage::createGroups() {
  for (const auto &loaded : programs)
    for (const GroupPartition &partition : loaded->partitions)
      for (const std::vector<int> &members : partition.groups)
        SHARDC_RETURN_IF_ERROR(createGroup(loaded->profile, members));
  return Status::ok();
}

Status Stage::createGroup(size_t profile, const std::vector<int> &members) {
  if (place.world.transport) {
    for (int rank : members)
      if (Rank *here = rankHere(rank))
        here->addGroup(profile, std::make_unique<NetworkCommunicator>(
                                    *place.world.transport, worldRanks(members),
                                    options.timeout));
    return Status::ok();
  }
  auto &groups = own[profile]->groups;
  groups.push_back(
      std::make_unique<SharedMemoryGroup>(worldRanks(members), failure));
  if (!groups.back()->allocate())
    return artifactError(kNoMemory);
  for (size_t i = 0; i < members.size(); ++i)
    rankHere(members[i])
        ->addGroup(profile, groups.back()->join(static_cast<int>(i)));
  return Status::ok();
}

Status Stage::createWorld() {
  if (!options.checkReplicas || numRanks() == 1)
    return Status::ok();
  std::vector<int> members;
  for (int rank = 0; rank < numRanks(); ++rank)
    members.push_back(worldRank(rank));
  if (place.world.transport) {
    for (const auto &rank : ranks)
      rank->addWorld(std::make_unique<NetworkCommunicator>(
          *place.world.transport, members, options.timeout));
    return Status::ok();
  }
  everyone = std::make_unique<SharedMemoryGroup>(members, failure);
  if (!everyone->allocate())
    return artifactError(kNoMemory);
  for (const auto &rank : ranks)
    rank->addWorld(everyone->join(rank->place.rank));
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

Status Stage::load(WeightArrivals &all) {
  if (options.preflight)
    return onAllRanks(Job::RunsKernels,
                      [](Rank &rank) { return rank.tryGroups(); });
  arrivals = &all;
  SHARDC_RETURN_IF_ERROR(loadPrograms());
  if (options.progress)
    for (const auto &rank : ranks)
      options.progress->tell(rank->comingBytes());
  for (const auto &rank : ranks)
    SHARDC_RETURN_IF_ERROR(rank->startFeed(all));
  return options.loadsBeside
             ? Status::ok()
             : arrivals->await(place.stage, WeightArrivals::kAll, nullptr);
}

Status Stage::loadPrograms() {
  for (size_t profile = 0; profile < programs.size(); ++profile) {
    SHARDC_RETURN_IF_ERROR(onAllRanks(Job::Plans, [profile](Rank &rank) {
      return rank.placeWeights(profile);
    }));
    SHARDC_RETURN_IF_ERROR(onAllRanks(Job::RunsKernels, [profile](Rank &rank) {
      return rank.computeLoaded(profile);
    }));
    for (const auto &rank : ranks)
      rank->endLoading(profile);
    SHARDC_RETURN_IF_ERROR(onAllRanks(Job::Plans, [profile](Rank &rank) {
      return rank.shareLoaded(profile);
    }));
  }
  return Status::ok();
}

Status Stage::linkStages(DeviceLinks &all) {
  return onAllRanks(Job::RunsKernels,
                    [&all](Rank &rank) { return rank.linkStages(all); });
}

} // namespace shardc::runtime
