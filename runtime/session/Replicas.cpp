#include "runtime/session/Replicas.h"

#include "runtime/base/Message.h"
#include "runtime/memory/SharedHosts.h"
#include "runtime/session/Processes.h"
#include "runtime/session/SameArtifact.h"

#include <algorithm>
#include <system_error>
#include <thread>

namespace shardc::runtime {

Status Replicas::open(const std::string &folder, const SessionOptions &options,
                      std::unique_ptr<Replicas> &replicas) {
  auto opened = std::make_unique<Replicas>();
  SHARDC_RETURN_IF_ERROR(opened->connect(options));
  Status status = opened->world.ended(opened->openAll(folder, options));
  if (status.isOk())
    replicas = std::move(opened);
  else if (opened->isStuck())
    (void)opened.release(); // a thread still uses it
  return status;
}

Replicas::~Replicas() {
  if (isLeading && !world.transport->failed())
    commands->sendEnd();
  pipelines.clear();
  if (processes)
    processes->leave();
}

Status Replicas::connect(const SessionOptions &options) {
  if (!options.processes)
    return Status::ok();
  SHARDC_RETURN_IF_ERROR(options.processes->enter(world.firstStream));
  processes = options.processes;
  world.transport = &processes->transport();
  commands = std::make_unique<CommandStream>(
      *world.transport, world.firstStream, options.timeout);
  return Status::ok();
}

/// The programs call what was generated for them; no kernel of the runtime does
/// the same.
static Status checkNativeCode(const Artifact &artifact, bool mayRun) {
  if (mayRun || artifact.manifest().kernels.empty())
    return Status::ok();
  return artifactError(
      "the artifact needs its own native code, ",
      artifact.manifest().kernels.size(), " kernels such as ",
      artifact.manifest().kernels.begin()->first,
      ", which may not run; compile the model with --kernels reference, or "
      "leave --no-kernels out if you trust where the artifact comes from");
}

/// A process whose rank is on another device takes nothing of its host.
Status Replicas::shareHost(std::chrono::milliseconds timeout) {
  MemoryNeed &mine = needs[0];
  HostMemory memory;
  SHARDC_RETURN_IF_ERROR(hostMemory(memory));
  ControlExchange control(*world.transport, timeout);
  HostRoom room;
  SHARDC_RETURN_IF_ERROR(shareHosts(
      control, reportOf(mine.isHost ? mine.needed : NeededBytes(), memory),
      [&](int rank) { return artifact.rankText(rank); }, room));
  if (mine.isHost) {
    mine.freeBytes = room.free;
    mine.beside = room.beside;
  }
  return Status::ok();
}

Status Replicas::openAll(const std::string &folder,
                         const SessionOptions &options) {
  ArtifactOptions artifactOptions;
  artifactOptions.weightsRoot = options.weightsRoot;
  artifactOptions.knowsKernel = [](std::string_view name) {
    return findHostKernel(name) != nullptr;
  };
  artifactOptions.choose = [&](const Manifest &manifest) {
    return devices.choose(options.device, manifest.target);
  };
  SHARDC_RETURN_IF_ERROR(Artifact::open(folder, artifactOptions, artifact));
  SHARDC_RETURN_IF_ERROR(checkNativeCode(artifact, options.nativeCode));
  if (processes) {
    if (artifact.worldSize() != processes->size())
      return artifactError(folder, " is for ", artifact.worldSize(),
                           " ranks, but ", processes->size(),
                           " processes were started; start ",
                           artifact.worldSize(), ", or compile the model for ",
                           processes->size(), " ranks");
    ControlExchange control(*world.transport, options.timeout);
    SHARDC_RETURN_IF_ERROR(
        checkSameArtifact(control, artifact.contents(), folder));
  }
  SHARDC_RETURN_IF_ERROR(
      devices.open(artifact.worldSize(), processes ? processes->rank() : -1));
  hostKernels = devices.findHostKernels(artifact);
  SHARDC_RETURN_IF_ERROR(collectNeeds(artifact, devices,
                                      processes ? processes->rank() : -1,
                                      options.cachePositions, needs));
  if (!processes || !devices.isHost())
    SHARDC_RETURN_IF_ERROR(checkMemory(needs));
  if (processes)
    SHARDC_RETURN_IF_ERROR(shareHost(options.timeout));
  world.devices = &devices;
  for (int replica = 0; replica < artifact.numReplicas(); ++replica) {
    pipelines.emplace_back();
    SHARDC_RETURN_IF_ERROR(
        Pipeline::open(artifact, replica, world, options, pipelines.back()));
  }
  isBusy.resize(pipelines.size());
  isLeading = processes && processes->rank() == 0 && !options.preflight;
  return Status::ok();
}

bool Replicas::isStuck() const {
  return std::any_of(
      pipelines.begin(), pipelines.end(),
      [](const auto &pipeline) { return pipeline && pipeline->isStuck(); });
}

size_t Replicas::acquire() {
  std::unique_lock lock(mutex);
  auto idle = isBusy.end();
  released.wait(lock, [&] {
    idle = std::find(isBusy.begin(), isBusy.end(), 0);
    return idle != isBusy.end();
  });
  *idle = 1;
  return static_cast<size_t>(idle - isBusy.begin());
}

void Replicas::acquire(size_t replica) {
  std::unique_lock lock(mutex);
  released.wait(lock, [&] { return !isBusy[replica]; });
  isBusy[replica] = 1;
}

void Replicas::release(size_t replica, bool isOk) {
  {
    std::lock_guard lock(mutex);
    isBusy[replica] = 0;
    if (isOk)
      lastUsed = replica;
  }
  released.notify_all();
}

/// A replica that is taken, and free again whatever happens.
class Replicas::Turn {
public:
  explicit Turn(Replicas &all) : all(all), number(all.acquire()) {}
  Turn(Replicas &all, size_t replica) : all(all), number(replica) {
    all.acquire(replica);
  }
  ~Turn() { all.release(number, isOk); }
  Turn(const Turn &) = delete;

  Status run(std::span<const PipelineRequest> requests) {
    Status status = all.pipelines[number]->run(requests);
    isOk = status.isOk();
    return status;
  }

private:
  Replicas &all;
  const size_t number;
  bool isOk = false;
};

Status Replicas::runTurn(size_t replica,
                         std::span<const PipelineRequest> requests) {
  return Turn(*this, replica).run(requests);
}

Status Replicas::checkProcess() const {
  return isForked()
             ? artifactError("this process was forked from the one that opened "
                             "the session, and has none of its ranks; open the "
                             "artifact after fork(), or in the child")
             : Status::ok();
}

/// Once other devices have their copies, files are of no concern any more.
Status Replicas::checkFiles() {
  if (filesAreRead.load(std::memory_order_relaxed))
    return Status::ok();
  bool isLast = true;
  for (const auto &pipeline : pipelines)
    isLast &= pipeline->arrivals->isComplete();
  SHARDC_RETURN_IF_ERROR(artifact.checkUnchanged());
  for (const auto &pipeline : pipelines)
    for (const auto &stage : pipeline->stages)
      for (const auto &rank : stage->ranks) {
        SHARDC_RETURN_IF_ERROR(
            rank->weightSlices().copiedFile.checkUnchanged());
        isLast &= !rank->device().isHost();
      }
  if (isLast)
    filesAreRead = true;
  return Status::ok();
}

Status Replicas::run(std::span<const PipelineRequest> requests) {
  SHARDC_RETURN_IF_ERROR(checkLeads());
  if (!processes)
    return withFiles([&] { return runShares(requests); });
  std::lock_guard lock(oneAtATime);
  Command command;
  SHARDC_RETURN_IF_ERROR(describe(requests, command));
  return asAll([&] {
    SHARDC_RETURN_IF_ERROR(tell(command, commandData));
    return withFiles([&] { return runShares(requests); });
  });
}

Status Replicas::runWith(KeptState &state) {
  SHARDC_RETURN_IF_ERROR(checkLeads());
  for (PipelineRequest &request : state.requests)
    request.states = &state.stages;
  auto run = [&] { return runTurn(state.replica, state.requests); };
  if (!processes)
    return withFiles(run);
  std::lock_guard lock(oneAtATime);
  Command command{.state = state.number};
  SHARDC_RETURN_IF_ERROR(describe(state.requests, command));
  return asAll([&] {
    SHARDC_RETURN_IF_ERROR(tell(command, commandData));
    return withFiles(run);
  });
}

/// Where ranks are processes, all replicas are idle now. Nothing throws by
/// design; running out of memory may.
Status Replicas::runShare(size_t share,
                          std::span<const PipelineRequest> requests) {
  try {
    return processes ? runTurn(share, requests) : Turn(*this).run(requests);
  } catch (const std::exception &error) {
    return artifactError("out of memory or threads: ", error.what());
  }
}

Status Replicas::runShares(std::span<const PipelineRequest> requests) {
  const size_t shares = std::min(pipelines.size(), requests.size());
  if (shares <= 1)
    return runShare(0, requests);
  std::vector<Status> statuses(shares);
  auto run = [&](size_t i) {
    const size_t begin = i * requests.size() / shares;
    const size_t end = (i + 1) * requests.size() / shares;
    statuses[i] = runShare(i, requests.subspan(begin, end - begin));
  };
  std::vector<std::thread> threads;
  threads.reserve(shares);
  // The last share is this thread's, and those that no thread can be had for:
  // std::thread reports that by an exception only.
  size_t started = 0;
  try {
    for (; started + 1 < shares; ++started)
      threads.emplace_back(run, started);
  } catch (const std::system_error &) {
  }
  for (size_t i = started; i < shares; ++i)
    run(i);
  for (std::thread &thread : threads)
    thread.join();
  auto failed = std::find_if(statuses.begin(), statuses.end(),
                             [](const Status &s) { return !s.isOk(); });
  return failed == statuses.end() ? Status::ok() : *failed;
}

} // namespace shardc::runtime
