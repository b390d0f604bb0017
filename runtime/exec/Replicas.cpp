#include "runtime/exec/Replicas.h"

#include <algorithm>
#include <thread>

namespace shardc::runtime {

Status Replicas::open(const std::string &folder, const SessionOptions &options,
                      std::unique_ptr<Replicas> &replicas) {
  auto opened = std::make_unique<Replicas>();
  ArtifactOptions artifactOptions;
  artifactOptions.weightsRoot = options.weightsRoot;
  SHARDC_RETURN_IF_ERROR(
      Artifact::open(folder, artifactOptions, opened->artifact));
  for (int replica = 0; replica < opened->artifact.numReplicas(); ++replica) {
    std::unique_ptr<Pipeline> pipeline;
    Status status =
        Pipeline::open(opened->artifact, replica, options, pipeline);
    if (!status.isOk()) {
      if (opened->isStuck())
        (void)opened.release(); // a thread still uses it
      return status;
    }
    opened->pipelines.push_back(std::move(pipeline));
  }
  opened->isBusy.resize(opened->pipelines.size());
  replicas = std::move(opened);
  return Status::ok();
}

bool Replicas::isStuck() const {
  return std::any_of(pipelines.begin(), pipelines.end(),
                     [](const auto &pipeline) { return pipeline->isStuck(); });
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

Status Replicas::runOn(size_t replica, const PipelineRequest &request) {
  acquire(replica);
  Status status = pipelines[replica]->run({&request, 1});
  release(replica, status.isOk());
  return status;
}

Status Replicas::run(std::span<const PipelineRequest> requests) {
  auto runSome = [this](std::span<const PipelineRequest> some) {
    const size_t replica = acquire();
    Status status = pipelines[replica]->run(some);
    release(replica, status.isOk());
    return status;
  };
  const size_t shares = std::min(pipelines.size(), requests.size());
  if (shares <= 1)
    return runSome(requests);
  std::vector<Status> statuses(shares);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < shares; ++i) {
    const size_t begin = i * requests.size() / shares;
    const size_t end = (i + 1) * requests.size() / shares;
    threads.emplace_back([&, i, begin, end] {
      statuses[i] = runSome(requests.subspan(begin, end - begin));
    });
  }
  for (std::thread &thread : threads)
    thread.join();
  auto failed = std::find_if(statuses.begin(), statuses.end(),
                             [](const Status &s) { return !s.isOk(); });
  return failed == statuses.end() ? Status::ok() : *failed;
}

} // namespace shardc::runtime
