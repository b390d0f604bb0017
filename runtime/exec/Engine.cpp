#include "runtime/exec/Engine.h"

#include "runtime/backend/host/HostThreads.h"
#include "runtime/base/Message.h"
#include "runtime/exec/ScalarEvaluator.h"

#include <algorithm>
#include <array>
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
  ranks = std::vector<RankState>(static_cast<size_t>(artifact.worldSize(0)));
  for (size_t i = 0; i < artifact.numPrograms(); ++i)
    programs.push_back(
        std::make_unique<LoadedProgram>(artifact.program(i), i, ranks.size()));
  active = programs.front().get();
  inputInfos = describeInputs(program());
  outputInfos = describeOutputs(program());
  SHARDC_RETURN_IF_ERROR(checkPorts());
  orderedInputs.resize(inputInfos.size());
  for (RankState &state : ranks)
    state.inputs.resize(inputInfos.size());
  SHARDC_RETURN_IF_ERROR(createGroups());
  SHARDC_RETURN_IF_ERROR(createWorld());
  const int kernelThreads = std::max(1, hostCores() / worldSize());
  SHARDC_RETURN_IF_ERROR(threads.start(
      worldSize(), [kernelThreads](int) { setHostThreads(kernelThreads); }));
  return load();
}

/// Profiles have the same inputs, outputs and caches.
Status Engine::checkPorts() const {
  auto same = [](const std::vector<TensorInfo> &a,
                 const std::vector<TensorInfo> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const TensorInfo &x, const TensorInfo &y) {
                        return x.name == y.name && x.element == y.element &&
                               x.dims.size() == y.dims.size();
                      });
  };
  auto cachesOf = [](const artifact::Program &program) {
    std::vector<std::array<int64_t, 3>> caches;
    if (program.caches())
      for (const artifact::CachePair *pair : *program.caches())
        caches.push_back({pair->input(), pair->output(), pair->dim()});
    return caches;
  };
  for (const auto &other : programs)
    if (cachesOf(program()) != cachesOf(*other->program))
      return artifactError("its programs keep different caches");
    else if (!same(inputInfos, describeInputs(*other->program)) ||
             !same(outputInfos, describeOutputs(*other->program)))
      return artifactError("its programs have different inputs or outputs");
  return Status::ok();
}

static const char *const kNoMemory =
    "out of memory for the collectives' buffers";

Status Engine::createGroups() {
  for (auto &loaded : programs)
    for (const artifact::Group *group : *loaded->program->groups()) {
      loaded->partitions.push_back(partitionRanks(*loaded->program, *group));
      for (const std::vector<int> &members : loaded->partitions.back().groups) {
        loaded->sharedGroups.push_back(
            std::make_unique<SharedMemoryGroup>(members, failure));
        SharedMemoryGroup &shared = *loaded->sharedGroups.back();
        if (!shared.allocate())
          return artifactError(kNoMemory);
        for (size_t i = 0; i < members.size(); ++i)
          loaded->ranks[static_cast<size_t>(members[i])]
              .communicators.push_back(shared.join(static_cast<int>(i)));
      }
    }
  return Status::ok();
}

Status Engine::createWorld() {
  if (!options.checkReplicas || worldSize() == 1)
    return Status::ok();
  std::vector<int> members(ranks.size());
  std::iota(members.begin(), members.end(), 0);
  everyone = std::make_unique<SharedMemoryGroup>(members, failure);
  if (!everyone->allocate())
    return artifactError(kNoMemory);
  for (int rank : members)
    ranks[static_cast<size_t>(rank)].world = everyone->join(rank);
  return Status::ok();
}

Status Engine::load() {
  for (auto &loaded : programs) {
    active = loaded.get();
    for (int rank = 0; rank < worldSize(); ++rank) {
      active->loadScalars.emplace_back();
      SHARDC_RETURN_IF_ERROR(evaluateLoadScalars(program(), active->dependence,
                                                 coordinatesOf(program(), rank),
                                                 active->loadScalars.back()));
    }
    SHARDC_RETURN_IF_ERROR(onAllRanks(&Engine::loadRank, Step::Plans));
    SHARDC_RETURN_IF_ERROR(onAllRanks(&Engine::runLoadRank, Step::RunsKernels));
    for (RankProgram &rank : active->ranks)
      rank.loadPlan.reset();
  }
  return Status::ok();
}

/// Weights and the memory of loaded values.
Status Engine::loadRank(int rank) {
  RankProgram &state = active->ranks[static_cast<size_t>(rank)];
  const std::vector<int64_t> &scalars =
      active->loadScalars[static_cast<size_t>(rank)];
  SHARDC_RETURN_IF_ERROR(
      loadWeights(artifact, active->number, rank, scalars, state.weights));
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
  RankProgram &mine = active->ranks[static_cast<size_t>(rank)];
  PlanContext context{program(),
                      *program().load(),
                      active->load.list[0],
                      active->load.carried,
                      active->load.arenaPlace,
                      active->partitions,
                      active->loadScalars};
  // Kept until all ranks are done: a timeout elsewhere may ask where this is.
  mine.loadPlan = std::make_unique<RankPlan>();
  RankPlan &plan = *mine.loadPlan;
  ArenaMemo onlyOnce;
  SHARDC_RETURN_IF_ERROR(plan.prepare(context, resourcesOf(rank), onlyOnce));
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
  const RankProgram &mine = active->ranks[static_cast<size_t>(rank)];
  return {rank, mine.fixedBuffers, mine.communicators};
}

RankMemory Engine::memoryOf(int rank) const {
  const auto r = static_cast<size_t>(rank);
  RankMemory memory{0, 0, 0,
                    ranks[r].arena.size() + ranks[r].inputMemory.size()};
  for (const auto &loaded : programs) {
    const RankProgram &mine = loaded->ranks[r];
    memory.weightBytes += mine.weights.mappedBytes + mine.weights.packedBytes;
    memory.packedBytes += mine.weights.packedBytes;
    memory.loadedBytes += mine.persistentBytes;
    for (const AlignedBuffer &buffer : mine.carried)
      memory.arenaBytes += buffer.size();
  }
  return memory;
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
