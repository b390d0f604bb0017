#include "runtime/session/Replicas.h"

#include "runtime/base/Message.h"
#include "runtime/base/QuietThread.h"
#include "runtime/launch/LoadProgress.h"
#include "runtime/memory/SharedHosts.h"
#include "runtime/session/Processes.h"
#include "runtime/session/SameArtifact.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <thread>

namespace shardc::runtime {

uint64_t Replicas::nextId() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

Status Replicas::open(const std::string &folder, const SessionOptions &options,
                      std::shared_ptr<Artifact> artifact,
                      std::unique_ptr<Replicas> &replicas) {
  auto opened = std::make_unique<Replicas>(
      artifact ? std::move(artifact) : std::make_shared<Artifact>());
  SHARDC_RETURN_IF_ERROR(opened->connect(options));
  Status status = opened->world.ended(opened->openAll(folder, options));
  if (status.isOk()) {
    if (opened->processes)
      opened->world.transport->openRequests(true);
    replicas = std::move(opened);
  } else if (opened->isStuck())
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
  world.transport->openRequests(false);
  patience = options.timeout;
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

/// Where it is open already, files may have changed since, but not be others.
Status Replicas::openArtifact(const std::string &folder,
                              const SessionOptions &options) {
  if (artifact.numPrograms() > 0) {
    SHARDC_RETURN_IF_ERROR(artifact.checkUnchanged());
    return devices.choose(options.device, artifact.manifest().target);
  }
  ArtifactOptions artifactOptions;
  artifactOptions.weightsRoot = options.weightsRoot;
  artifactOptions.knowsKernel = [](std::string_view name) {
    return findHostKernel(name) != nullptr;
  };
  artifactOptions.choose = [&](const Manifest &manifest) {
    return devices.choose(options.device, manifest.target);
  };
  return Artifact::open(folder, artifactOptions, artifact);
}

Status Replicas::openAll(const std::string &folder,
                         const SessionOptions &options) {
  SHARDC_RETURN_IF_ERROR(openArtifact(folder, options));
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
  if (options.progress)
    options.progress->begin(
        needs.size(),
        processes ? 1 : static_cast<size_t>(artifact.numReplicas()));
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
  isBusy.resize(pipelines.size() + 1); // and one for all processes
  isPreflight = options.preflight;
  isLeading = processes && processes->rank() == 0 && !isPreflight;
  return Status::ok();
}

bool Replicas::isStuck() const {
  return std::any_of(
      pipelines.begin(), pipelines.end(),
      [](const auto &pipeline) { return pipeline && pipeline->isStuck(); });
}

Status Replicas::acquire(size_t first, size_t last, RunEnd *end,
                         size_t &taken) {
  const RunEnd::Watch watch(end, [this](const Status &) {
    const std::lock_guard lock(mutex);
    released.notify_all();
  });
  std::unique_lock lock(mutex);
  released.wait(lock, [&] {
    for (taken = first; taken < last && isBusy[taken];)
      ++taken;
    return taken < last || (end && end->hasCome());
  });
  if (end && end->hasCome()) {
    lock.unlock(); // who ends the run waits for it
    return end->status();
  }
  isBusy[taken] = 1;
  return Status::ok();
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

Status Replicas::Turn::run(std::span<const PipelineRequest> requests) {
  SHARDC_RETURN_IF_ERROR(acquired);
  Status status = all.pipelines[number]->run(requests, end);
  isOk = status.isOk();
  return status;
}

Status Replicas::Turn::run(RequestFeed &feed) {
  SHARDC_RETURN_IF_ERROR(acquired);
  Status status = all.pipelines[number]->run(feed, end);
  isOk = status.isOk();
  return status;
}

Status Replicas::runTurn(size_t replica,
                         std::span<const PipelineRequest> requests,
                         RunEnd *end) {
  return Turn(*this, replica, replica + 1, end).run(requests);
}

Status Replicas::checkProcess() const {
  return isForked()
             ? artifactError("this process was forked from the one that opened "
                             "the session, and has none of its ranks; open the "
                             "artifact after fork(), or in the child")
             : Status::ok();
}

Status Replicas::checkLoaded() const {
  return isPreflight ? argumentError("the session was opened for a preflight, "
                                     "which loads nothing: nothing runs on it")
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

Status Replicas::run(std::span<const PipelineRequest> requests,
                     const RunOptions &options) {
  SHARDC_RETURN_IF_ERROR(checkLeads());
  const MaybeEnd end(options, deadlines);
  const Part part{nullptr, requests};
  return processes ? leadRun({&part, 1}, end.get())
                   : withFiles([&] { return runShares(requests, end.get()); });
}

Status Replicas::runWith(KeptState &state, const RunOptions &options) {
  SHARDC_RETURN_IF_ERROR(checkLeads());
  SHARDC_RETURN_IF_ERROR(checkState(state));
  for (PipelineRequest &request : state.requests)
    request.states = &state.stages;
  const MaybeEnd end(options, deadlines);
  const Part part{&state, state.requests};
  return processes ? leadRun({&part, 1}, end.get()) : withFiles([&] {
    return runTurn(state.replica, state.requests, end.get());
  });
}

/// Each on its replica.
Status Replicas::runParts(std::span<const Part> parts, RunEnd *end) {
  const auto runPart = [&](size_t i) {
    return withoutExceptions([&] {
      return parts[i].state
                 ? runTurn(parts[i].state->replica, parts[i].requests, end)
                 : runShares(parts[i].requests, end);
    });
  };
  return parts.size() == 1 ? runPart(0) : atOnce(parts.size(), runPart);
}

/// Where ranks are processes, all replicas are idle now. Nothing throws by
/// design; running out of memory may.
Status Replicas::runShare(size_t share,
                          std::span<const PipelineRequest> requests,
                          RunEnd *end) {
  return withoutExceptions([&] {
    return processes ? runTurn(share, requests, end)
                     : Turn(*this, 0, pipelines.size(), end).run(requests);
  });
}

Status Replicas::runShares(std::span<const PipelineRequest> requests,
                           RunEnd *end) {
  const size_t shares = std::min(pipelines.size(), requests.size());
  if (shares <= 1)
    return runShare(0, requests, end);
  return atOnce(shares, [&](size_t i) {
    const size_t first = i * requests.size() / shares;
    const size_t last = (i + 1) * requests.size() / shares;
    return runShare(i, requests.subspan(first, last - first), end);
  });
}

/// On as many threads, which the first error does not end.
Status Replicas::atOnce(size_t count,
                        const std::function<Status(size_t)> &run) {
  std::vector<Status> statuses(count);
  std::vector<std::thread> threads;
  threads.reserve(count);
  // The last one is this thread's, and those that no thread can be had for:
  // std::thread reports that by an exception only.
  size_t started = 0;
  try {
    for (; started + 1 < count; ++started)
      threads.push_back(
          quietThread([&, started] { statuses[started] = run(started); }));
  } catch (const std::system_error &) {
  }
  for (size_t i = started; i < count; ++i)
    statuses[i] = run(i);
  for (std::thread &thread : threads)
    thread.join();
  auto failed = std::find_if(statuses.begin(), statuses.end(),
                             [](const Status &s) { return !s.isOk(); });
  return failed == statuses.end() ? Status::ok() : *failed;
}

} // namespace shardc::runtime
