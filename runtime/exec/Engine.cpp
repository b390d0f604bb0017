#include "runtime/exec/Engine.h"

#include "runtime/backend/host/HostThreads.h"
#include "runtime/base/Message.h"
#include "runtime/exec/ScalarEvaluator.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>

namespace shardc::runtime {

Engine::Engine(const SessionOptions &options)
    : options(options), failure(options.timeout, [this](int rank) {
        return describeRank(rank);
      }) {}

Status Engine::open(const std::string &folder, const SessionOptions &options,
                    std::unique_ptr<Engine> &engine) {
  std::unique_ptr<Engine> opened(new Engine(options));
  Status status = opened->start(folder);
  if (status.isOk())
    engine = std::move(opened);
  else if (opened->isStuck())
    (void)opened.release(); // a thread still uses it
  return status;
}

Status Engine::start(const std::string &folder) {
  ArtifactOptions artifactOptions;
  artifactOptions.weightsRoot = options.weightsRoot;
  SHARDC_RETURN_IF_ERROR(Artifact::open(folder, artifactOptions, artifact));
  if (artifact.numStages() != 1)
    return artifactError(folder, " has ", artifact.numStages(),
                         " pipeline stages, this runtime runs 1; compile the "
                         "model with --pp 1");
  inputInfos = describeInputs(program());
  outputInfos = describeOutputs(program());
  orderedInputs.resize(inputInfos.size());
  symbols.resize(program().symbols()->size());
  dependence = scalarDependences(program());
  runSegments = findSegments(program());
  loadSegments = loadSegment(program());
  ranks = std::vector<RankState>(static_cast<size_t>(artifact.worldSize(0)));
  for (RankState &state : ranks) {
    state.inputs.resize(inputInfos.size());
    state.carried.resize(runSegments.isStatic() ? 0
                                                : program().buffers()->size());
  }
  SHARDC_RETURN_IF_ERROR(createGroups());
  const int kernelThreads = std::max(1, hostCores() / worldSize());
  SHARDC_RETURN_IF_ERROR(threads.start(
      worldSize(), [kernelThreads](int) { setHostThreads(kernelThreads); }));
  return load();
}

Status Engine::createGroups() {
  auto create = [&](const std::vector<int> &members) -> SharedMemoryGroup * {
    sharedGroups.push_back(
        std::make_unique<SharedMemoryGroup>(members, failure));
    return sharedGroups.back()->allocate() ? sharedGroups.back().get()
                                           : nullptr;
  };
  const char *noMemory = "out of memory for the collectives' buffers";
  for (const artifact::Group *group : *program().groups()) {
    partitions.push_back(partitionRanks(program(), *group));
    for (const std::vector<int> &members : partitions.back().groups) {
      SharedMemoryGroup *shared = create(members);
      if (!shared)
        return artifactError(noMemory);
      for (size_t i = 0; i < members.size(); ++i)
        ranks[static_cast<size_t>(members[i])].communicators.push_back(
            shared->join(static_cast<int>(i)));
    }
  }
  if (!options.checkReplicas || worldSize() == 1)
    return Status::ok();
  std::vector<int> everyone(ranks.size());
  std::iota(everyone.begin(), everyone.end(), 0);
  SharedMemoryGroup *shared = create(everyone);
  if (!shared)
    return artifactError(noMemory);
  for (int rank : everyone)
    ranks[static_cast<size_t>(rank)].world = shared->join(rank);
  return Status::ok();
}

Status Engine::load() {
  for (int rank = 0; rank < worldSize(); ++rank) {
    allLoadScalars.emplace_back();
    SHARDC_RETURN_IF_ERROR(evaluateLoadScalars(program(), dependence,
                                               coordinatesOf(program(), rank),
                                               allLoadScalars.back()));
  }
  SHARDC_RETURN_IF_ERROR(onAllRanks(&Engine::loadRank, Step::Plans));
  SHARDC_RETURN_IF_ERROR(onAllRanks(&Engine::runLoadRank, Step::RunsKernels));
  for (RankState &state : ranks)
    state.loadPlan.reset();
  return Status::ok();
}

/// Weights and the memory of loaded values.
Status Engine::loadRank(int rank) {
  RankState &state = ranks[static_cast<size_t>(rank)];
  const std::vector<int64_t> &scalars =
      allLoadScalars[static_cast<size_t>(rank)];
  SHARDC_RETURN_IF_ERROR(
      loadWeights(artifact, 0, rank, scalars, state.weights));
  const auto *buffers = program().buffers();
  state.fixedBuffers.assign(buffers->size(), nullptr);
  for (uint32_t b = 0; b < buffers->size(); ++b) {
    const artifact::Buffer *buffer = buffers->Get(b);
    int64_t bytes = scalars[buffer->bytes()];
    if (buffer->kind() == artifact::BufferKind_Weight) {
      if (bytes != state.weights.bytes[buffer->source()])
        return artifactError(
            "weight ",
            program().weights()->Get(buffer->source())->name()->c_str(),
            " has ", state.weights.bytes[buffer->source()], " bytes on rank ",
            rank, ", its buffer ", bytes);
      state.fixedBuffers[b] =
          const_cast<std::byte *>(state.weights.data[buffer->source()]);
    } else if (buffer->kind() == artifact::BufferKind_Persistent) {
      SHARDC_RETURN_IF_ERROR(bufferBytes(program(), b, scalars, bytes));
      AlignedBuffer memory;
      if (!memory.allocate(bytes))
        return artifactError("out of memory for ", bytes, " bytes on rank ",
                             rank);
      state.fixedBuffers[b] = memory.data();
      state.persistentBytes += bytes;
      state.persistent.push_back(std::move(memory));
    }
  }
  return Status::ok();
}

/// The load-time program: once, in an arena of its own.
Status Engine::runLoadRank(int rank) {
  RankState &state = ranks[static_cast<size_t>(rank)];
  PlanContext context{
      program(),  *program().load(), loadSegments.list[0], loadSegments.carried,
      partitions, allLoadScalars};
  // Kept until all ranks are done: a timeout elsewhere may ask where this is.
  state.loadPlan = std::make_unique<RankPlan>();
  RankPlan &plan = *state.loadPlan;
  SHARDC_RETURN_IF_ERROR(plan.prepare(context, resourcesOf(rank)));
  AlignedBuffer arena;
  if (!arena.allocate(plan.arenaBytes()))
    return artifactError("out of memory for ", plan.arenaBytes(),
                         " bytes on rank ", rank);
  plan.bindArena(arena.data());
  Status status = runInstructions(
      plan, rank,
      {failure, state.world.get(), {}, state.current, state.hashes});
  state.current.store(nullptr, std::memory_order_release);
  return status;
}

RankResources Engine::resourcesOf(int rank) const {
  const RankState &state = ranks[static_cast<size_t>(rank)];
  return {rank, state.fixedBuffers, state.communicators};
}

std::string Engine::describeRank(int rank) const {
  std::string text = rankText(program(), rank);
  const BoundInstruction *at =
      ranks[static_cast<size_t>(rank)].current.load(std::memory_order_acquire);
  if (at)
    text += message(" in ", at->name, " at node '", at->node, "'");
  return text;
}

void Engine::runStep(int rank) {
  RankState &state = ranks[static_cast<size_t>(rank)];
  // Nothing throws by design; running out of memory while planning may.
  try {
    state.status = (this->*currentStep)(rank);
  } catch (const std::exception &error) {
    state.status = artifactError("rank ", rank, ": ", error.what());
  }
  if (!state.status.isOk())
    failure.fail(state.status);
}

Status Engine::onAllRanks(Status (Engine::*newStep)(int), Step kind) {
  if (stuck)
    return artifactError("a rank of this session no longer answers; open the "
                         "artifact again");
  failure.reset();
  currentStep = newStep;
  // A rank that hangs must not hang its caller: it gets as long as a collective
  // would wait for it.
  using Clock = std::chrono::steady_clock;
  Clock::time_point failedAt = Clock::time_point::max();
  auto giveUp = [&] {
    if (failure.failed() && failedAt == Clock::time_point::max())
      failedAt = Clock::now();
    return kind == Step::RunsKernels && failedAt != Clock::time_point::max() &&
           Clock::now() - failedAt > options.timeout;
  };
  stuck = !threads.run(job, giveUp);
  if (stuck)
    return artifactError(
        failure.status().message(),
        " (a rank no longer answers; open the artifact again)");
  return failure.status();
}

} // namespace shardc::runtime
