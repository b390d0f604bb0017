#include "runtime/exec/Replicas.h"

#include "runtime/api/processes.hpp"
#include "runtime/base/Message.h"
#include "runtime/exec/DeviceMemory.h"

#include <algorithm>
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
  agreement =
      std::make_unique<InputAgreement>(*world.transport, options.timeout);
  return Status::ok();
}

Status Replicas::openAll(const std::string &folder,
                         const SessionOptions &options) {
  ArtifactOptions artifactOptions;
  artifactOptions.weightsRoot = options.weightsRoot;
  artifactOptions.choose = [&](const Manifest &manifest) {
    return devices.choose(options.device, manifest.target);
  };
  SHARDC_RETURN_IF_ERROR(Artifact::open(folder, artifactOptions, artifact));
  if (processes) {
    if (artifact.worldSize() != processes->size())
      return artifactError(folder, " is for ", artifact.worldSize(),
                           " ranks, but ", processes->size(),
                           " processes were started; start ",
                           artifact.worldSize(), ", or compile the model for ",
                           processes->size(), " ranks");
    const ContentHash hash = artifact.contents();
    SHARDC_RETURN_IF_ERROR(agreement->check(
        {&hash, 1}, StatusCode::Artifact,
        [&](size_t) { return "the artifact " + folder; },
        "copy it to all machines again"));
  }
  SHARDC_RETURN_IF_ERROR(
      devices.open(artifact.worldSize(), processes ? processes->rank() : -1));
  hostKernels = devices.findHostKernels(artifact);
  SHARDC_RETURN_IF_ERROR(
      checkMemory(artifact, devices, processes ? processes->rank() : -1));
  world.devices = &devices;
  for (int replica = 0; replica < artifact.numReplicas(); ++replica) {
    pipelines.emplace_back();
    SHARDC_RETURN_IF_ERROR(
        Pipeline::open(artifact, replica, world, options, pipelines.back()));
  }
  isBusy.resize(pipelines.size());
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

/// Processes begin a run together, with the same inputs, and end it together.
template <typename Body>
Status Replicas::together(std::span<const PipelineRequest> requests,
                          Body body) {
  if (!processes)
    return body();
  std::lock_guard lock(oneAtATime);
  if (world.transport->failed())
    return world.transport->failure();
  if (Status same = agreement->check(requests); !same.isOk())
    return world.ended(same);
  return world.ended(body());
}

Status Replicas::runOn(size_t replica, const PipelineRequest &request) {
  return together({&request, 1}, [&] {
    acquire(replica);
    Status status = pipelines[replica]->run({&request, 1});
    release(replica, status.isOk());
    return status;
  });
}

Status Replicas::run(std::span<const PipelineRequest> requests) {
  return together(requests, [&] { return runShares(requests); });
}

Status Replicas::runShares(std::span<const PipelineRequest> requests) {
  // Where ranks are processes, all replicas are idle now.
  auto runSome = [this](size_t share, std::span<const PipelineRequest> some) {
    if (processes)
      acquire(share);
    const size_t replica = processes ? share : acquire();
    Status status = pipelines[replica]->run(some);
    release(replica, status.isOk());
    return status;
  };
  const size_t shares = std::min(pipelines.size(), requests.size());
  if (shares <= 1)
    return runSome(0, requests);
  std::vector<Status> statuses(shares);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < shares; ++i) {
    const size_t begin = i * requests.size() / shares;
    const size_t end = (i + 1) * requests.size() / shares;
    threads.emplace_back([&, i, begin, end] {
      statuses[i] = runSome(i, requests.subspan(begin, end - begin));
    });
  }
  for (std::thread &thread : threads)
    thread.join();
  auto failed = std::find_if(statuses.begin(), statuses.end(),
                             [](const Status &s) { return !s.isOk(); });
  return failed == statuses.end() ? Status::ok() : *failed;
}

} // namespace shardc::runtime
