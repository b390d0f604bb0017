#include "runtime/api/shardrt.hpp"

#include "runtime/base/Message.h"
#include "runtime/launch/LoadProgress.h"
#include "runtime/launch/SpentTimes.h"
#include "runtime/memory/MemoryNeeds.h"
#include "runtime/session/Replicas.h"
#include "runtime/session/Settings.h"
#include "runtime/trace/Trace.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <shared_mutex>
#include <sys/stat.h>
#include <utility>

namespace shardc::runtime {
namespace {

Status readEnvironment(SessionOptions &options) {
  if (const char *check = std::getenv("SHARDC_CHECK_REPLICAS"))
    options.checkReplicas |= std::strcmp(check, "1") == 0;
  if (const char *graphs = std::getenv("SHARDC_GRAPHS"))
    options.graphs &= std::strcmp(graphs, "0") != 0;
  options.loadsBeside &= !options.processes;
  if (const char *device = std::getenv("SHARDC_DEVICE");
      device && options.device.empty())
    options.device = device;
  SHARDC_RETURN_IF_ERROR(readThreads(options.threads));
  return readTimeout(options.timeout);
}

/// Which folder is at a path: another one once shardc has replaced it.
std::pair<dev_t, ino_t> folderAt(const std::string &path) {
  struct stat found = {};
  return stat(path.c_str(), &found) == 0 ? std::pair(found.st_dev, found.st_ino)
                                         : std::pair<dev_t, ino_t>();
}

/// Again where the artifact was replaced meanwhile: then half of what was read
/// was the old one's.
Status openReplicas(const std::string &artifact, const SessionOptions &options,
                    std::unique_ptr<Replicas> &replicas) {
  constexpr int kAttempts = 10;
  for (int attempt = 1;; ++attempt) {
    const auto before = folderAt(artifact);
    const Status status = Replicas::open(artifact, options, nullptr, replicas);
    // Processes have to open the same one.
    if (status.isOk() || options.processes || attempt == kAttempts ||
        folderAt(artifact) == before)
      return status;
  }
}

/// An error of a rank is one of its stage.
Status inStage(const Status &status, const Artifact &artifact) {
  const int rank = status.place().rank;
  return rank < 0 || rank >= artifact.worldSize()
             ? status
             : status.at({.stage = artifact.stageOf(rank)});
}

} // namespace

/// SessionOptions::onWeight, until the session is closed: a thread may outlive
/// that, but not call what is the caller's.
class WeightCallback {
public:
  using Function = std::function<void(int, const std::string &)>;
  explicit WeightCallback(Function function) : function(std::move(function)) {}

  void call(int rank, const std::string &weight) {
    std::shared_lock lock(mutex);
    if (function)
      function(rank, weight);
  }
  /// Waits for those that are in it.
  void close() {
    std::unique_lock lock(mutex);
    function = {};
  }

private:
  std::shared_mutex mutex;
  Function function;
};

Session::Session(std::string folder, const SessionOptions &options,
                 std::unique_ptr<Replicas> replicas,
                 std::shared_ptr<WeightCallback> onWeight)
    : folder(std::move(folder)), spent(options.spent), options(options),
      replicas(std::move(replicas)), onWeight(std::move(onWeight)) {}

Session::~Session() {
  // Ranks that were left behind may still load.
  if (onWeight && !replicas->isForked())
    onWeight->close();
  if (options.progress && !replicas->isForked())
    options.progress->close();
  if (replicas->isForked() || replicas->isStuck())
    (void)replicas.release(); // a thread still uses it, or would be waited for
}

Status Session::open(const std::string &artifact, const SessionOptions &options,
                     std::unique_ptr<Session> &session) {
  return withoutExceptions([&] {
    SessionOptions complete = options;
    SHARDC_RETURN_IF_ERROR(readEnvironment(complete));
    if (!complete.spent)
      complete.spent = std::make_shared<SpentTimes>();
    std::shared_ptr<WeightCallback> onWeight;
    if (options.onWeight) {
      onWeight = std::make_shared<WeightCallback>(options.onWeight);
      complete.onWeight = [onWeight](int rank, const std::string &weight) {
        onWeight->call(rank, weight);
      };
    }
    std::unique_ptr<Replicas> replicas;
    const Status status = openReplicas(artifact, complete, replicas);
    if (status.isOk())
      session.reset(new Session(artifact, complete, std::move(replicas),
                                std::move(onWeight)));
    if (!status.isOk() && onWeight)
      onWeight->close();
    if (!status.isOk() && options.progress)
      options.progress->close();
    return status;
  });
}

Status Session::reopen(Processes *again) {
  return withoutExceptions([&] {
    SHARDC_RETURN_IF_ERROR(replicas->checkProcess());
    if (!again != !options.processes)
      return argumentError(
          again ? "the ranks of this session are threads: there are no "
                  "processes to open it again with"
                : "where ranks are processes, they join() again first");
    SessionOptions changed = options;
    changed.processes = again;
    // They fitted when it was opened, and are there yet.
    changed.cachePositions = 0;
    replicas->forgetStates();
    std::unique_ptr<Replicas> other;
    SHARDC_RETURN_IF_ERROR(
        Replicas::open(folder, changed, replicas->ownArtifact, other));
    std::swap(replicas, other);
    options = changed;
    if (other->isStuck())
      (void)other.release(); // a thread still uses it
    return Status::ok();
  });
}

const std::vector<TensorInfo> &Session::inputs() const {
  return replicas->last().inputs();
}

const std::vector<TensorInfo> &Session::outputs() const {
  return replicas->last().outputs();
}

int Session::worldSize() const { return replicas->artifact.worldSize(); }

int Session::numReplicas() const {
  return static_cast<int>(replicas->pipelines.size());
}

bool Session::isLost() const {
  return replicas->isStuck() || replicas->world.isLost();
}

int Session::numStages() const { return replicas->artifact.numStages(); }

const std::string &Session::tolerance() const {
  return replicas->artifact.manifest().tolerance;
}

int64_t Session::page() const { return replicas->artifact.manifest().page; }
bool Session::hasIndependentRows() const {
  return replicas->artifact.manifest().hasIndependentRows;
}

bool Session::isCausal() const {
  return replicas->artifact.manifest().isCausal;
}

Status Session::takesRequests() const {
  return page() == 0
             ? Status::ok()
             : argumentError("the model was compiled with --serve, for steps "
                             "of rows: feed rows to a pool or texts to a "
                             "server, or compile it without --serve");
}

Status Session::run(std::span<const InputTensor> inputs,
                    std::span<Tensor> outputs, const RunOptions &options) {
  const PipelineRequest request{inputs, outputs};
  return withoutExceptions([&] {
    return inStage(replicas->run({&request, 1}, options), replicas->artifact);
  });
}

Status Session::run(std::span<const Request> requests,
                    const RunOptions &options) {
  return withoutExceptions([&] {
    std::vector<PipelineRequest> all;
    for (const Request &request : requests)
      all.push_back({request.inputs, request.outputs});
    return inStage(replicas->run(all, options), replicas->artifact);
  });
}

State::State(Session &session, std::unique_ptr<KeptState> kept)
    : session(session), kept(std::move(kept)) {}
State::~State() { session.replicas->dropState(std::move(kept)); }
int64_t State::capacity() const { return kept->capacity; }

int64_t State::length() const {
  int64_t length = 0;
  for (const auto &caches : kept->stages)
    length = std::max(length, caches ? caches->length() : 0);
  return length;
}

void State::reset() {
  // Where others cannot be told any more, the next run says why.
  (void)session.replicas->resetState(*kept);
}

Status State::lost() const { return session.replicas->checkState(*kept); }
bool State::isLostByOthers() const {
  return session.replicas->isLostByOthers(*kept);
}

std::vector<StateMemory> State::memory() const {
  return session.replicas->memoryOf(*kept);
}

Status State::fork(std::unique_ptr<State> &copy) const {
  return withoutExceptions([&] {
    std::unique_ptr<KeptState> made;
    SHARDC_RETURN_IF_ERROR(session.replicas->copyState(*kept, made));
    copy.reset(new State(session, std::move(made)));
    return Status::ok();
  });
}

Status Session::follow() {
  return withoutExceptions(
      [&] { return inStage(replicas->follow(), replicas->artifact); });
}

std::vector<StateMemory> Session::followedMemory() const {
  return replicas->followedMemory();
}

const std::vector<std::string> &Session::hostKernels() const {
  return replicas->hostKernels;
}

std::vector<std::string> Session::hostInstructions() const {
  std::set<std::string> all;
  for (const auto &pipeline : replicas->pipelines)
    for (const auto &stage : pipeline->stages) {
      std::lock_guard lock(stage->mutex);
      for (const auto &rank : stage->ranks)
        for (const std::string &reason : rank->movedToHost())
          all.insert(reason);
    }
  return {all.begin(), all.end()};
}

std::vector<std::string> Session::placement() const {
  std::vector<std::string> lines;
  for (const MemoryNeed &need : replicas->needs) {
    const std::string room = roomText(replicas->needs, need.number);
    lines.push_back(message(
        need.rank, ": ", need.described, ", ", need.needed.weights,
        need.isHost ? " bytes of copies of weights, " : " bytes of weights, ",
        need.freeBytes, " free", room.empty() ? "" : ", " + room));
  }
  for (const std::string &line : replicas->devices.findUnreachable())
    lines.push_back(line);
  return lines;
}

MemoryDevices Session::memoryDevices() const {
  MemoryDevices all = replicas->devices.memoryDevices();
  if (options.processes)
    all.numbers.clear();
  return all;
}

const std::vector<MemoryNeed> &Session::needs() const {
  return replicas->needs;
}

Status Session::checkProcess() const { return replicas->checkProcess(); }

std::vector<CacheInfo> Session::caches() const {
  return replicas->last().caches();
}

Status Session::createState(int64_t capacity, std::unique_ptr<State> &state,
                            int replica) {
  return withoutExceptions([&] {
    std::unique_ptr<KeptState> made;
    SHARDC_RETURN_IF_ERROR(replicas->createState(capacity, replica, made));
    state.reset(new State(*this, std::move(made)));
    return Status::ok();
  });
}

Status Session::run(State &state, std::span<const InputTensor> inputs,
                    std::span<Tensor> outputs, const RunOptions &options) {
  const Request request{inputs, outputs};
  return run(state, {&request, 1}, options);
}

Status Session::run(State &state, std::span<const Request> steps,
                    const RunOptions &options) {
  if (&state.session != this)
    return argumentError("the state is another session's");
  if (page() == 0 && steps.size() > 1)
    return argumentError("several requests on one state: its model was not "
                         "compiled for steps of rows, with --serve");
  return withoutExceptions([&] {
    std::vector<PipelineRequest> &requests = state.kept->requests;
    requests.clear();
    for (const Request &step : steps)
      requests.push_back({step.inputs, step.outputs});
    return inStage(replicas->runWith(*state.kept, options), replicas->artifact);
  });
}

Status Session::run(State &state, RequestFeed &steps,
                    const RunOptions &options) {
  if (&state.session != this)
    return argumentError("the state is another session's");
  if (page() == 0)
    return argumentError("steps that come as others run: the model was not "
                         "compiled for steps of rows, with --serve");
  return withoutExceptions([&] {
    return inStage(replicas->runFeed(*state.kept, steps, options),
                   replicas->artifact);
  });
}

Status Session::confirm() {
  return withoutExceptions(
      [&] { return inStage(replicas->confirm(), replicas->artifact); });
}

std::vector<CollectiveStats> Session::collectiveStats() const {
  std::vector<CollectiveStats> stats;
  for (const auto &stage : replicas->last().stages) {
    std::lock_guard lock(stage->mutex);
    const std::vector<const RankShapePlan *> plans = stage->lastPlans();
    if (plans.empty())
      continue;
    plans[0]->forEachInstruction(
        [&](const RankPlan &plan, const BoundInstruction &instruction) {
          if (instruction.collective < 0)
            return;
          const BoundCollective &collective =
              plan.collectives()[static_cast<size_t>(instruction.collective)];
          stats.push_back({std::string(instruction.name),
                           std::string(instruction.node),
                           collective.communicator->size(), collective.bytes,
                           collective.wireBytes});
        });
  }
  return stats;
}

std::vector<RankMemory> Session::rankMemory() const {
  std::vector<RankMemory> memory;
  for (const auto &pipeline : replicas->pipelines)
    for (const auto &stage : pipeline->stages) {
      std::lock_guard lock(stage->mutex);
      for (const auto &rank : stage->ranks)
        memory.push_back(stage->memoryOf(*rank));
    }
  std::sort(
      memory.begin(), memory.end(),
      [](const RankMemory &a, const RankMemory &b) { return a.rank < b.rank; });
  return memory;
}

LaunchStats Session::launchStats() const {
  LaunchStats all;
  for (const auto &pipeline : replicas->pipelines)
    for (const auto &stage : pipeline->stages) {
      std::lock_guard lock(stage->mutex);
      for (const auto &rank : stage->ranks) {
        const LaunchStats &launches = rank->launchStats();
        all.launched += launches.launched;
        all.captured += launches.captured;
        all.updated += launches.updated;
        all.replayed += launches.replayed;
      }
    }
  return all;
}

std::vector<InstructionProfile> Session::profile() const {
  std::vector<InstructionProfile> profile;
  for (const auto &stage : replicas->last().stages) {
    std::lock_guard lock(stage->mutex);
    for (InstructionProfile &entry : profileInstructions(
             stage->lastPlans(), stage->measuredRuns(), stage->measuresAll()))
      profile.push_back(std::move(entry));
  }
  return profile;
}

Status Session::measureLimits(DeviceLimits &limits) {
  return withoutExceptions([&] {
    SHARDC_RETURN_IF_ERROR(replicas->checkProcess());
    SHARDC_RETURN_IF_ERROR(replicas->checkLoaded());
    std::vector<DeviceLimits> all;
    for (const auto &stage : replicas->last().stages) {
      std::lock_guard lock(stage->mutex);
      SHARDC_RETURN_IF_ERROR(stage->measureLimits(all));
    }
    limits = {};
    for (const DeviceLimits &one : all) {
      limits.bytesPerSecond += one.bytesPerSecond / double(all.size());
      limits.multiplyAddsPerSecond +=
          one.multiplyAddsPerSecond / double(all.size());
    }
    return Status::ok();
  });
}

Status Session::writeTrace(const std::string &path) const {
  return withoutExceptions([&] {
    std::vector<RankTrace> traces;
    for (const auto &stage : replicas->last().stages) {
      std::lock_guard lock(stage->mutex);
      const std::vector<const RankShapePlan *> plans = stage->lastPlans();
      if (stage->ranks.empty())
        continue;
      if (plans.empty() || plans[0]->timings.empty())
        return argumentError("no measured run to trace; open the session with "
                             "`measure` and run it");
      for (const auto &rank : stage->ranks)
        traces.push_back({rank->place.worldRank(), *plans[rank->place.nth],
                          rank->weightTimings()});
    }
    return runtime::writeTrace(path, replicas->artifact, traces);
  });
}

} // namespace shardc::runtime
