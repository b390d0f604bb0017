//===- Replicas.h - A session's inside ------------------------------------===//
//
// Copies of the pipeline that run requests side by side (data parallelism for
// inference). A request goes to a replica that has nothing to do; one with a
// state to the replica that holds it. Where ranks are processes, all of them
// must choose alike: requests then come one call at a time, and the i-th share
// goes to the i-th replica.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SESSION_REPLICAS_H
#define SHARDC_RUNTIME_SESSION_REPLICAS_H

#include "runtime/base/OwnProcess.h"
#include "runtime/memory/MemoryNeeds.h"
#include "runtime/session/InputAgreement.h"
#include "runtime/session/Pipeline.h"

#include <condition_variable>

namespace shardc::runtime {

class Replicas {
public:
  static Status open(const std::string &folder, const SessionOptions &options,
                     std::unique_ptr<Replicas> &replicas);

  /// Spreads the requests. All of them are tried; the first error is returned.
  Status run(std::span<const PipelineRequest> requests);
  /// One request, on that replica.
  Status runOn(size_t replica, const PipelineRequest &request);
  /// The next replica in turn, for a new state.
  size_t next() { return turn++ % pipelines.size(); }

  bool isStuck() const;
  /// An error in a process that was forked after open: the ranks' threads are
  /// not there, and nothing may be destroyed.
  Status checkProcess() const;
  bool isForked() const { return process.isForked(); }

  Replicas() = default;
  ~Replicas();

  Artifact artifact;
  World world;
  RankDevices devices;           ///< outlive what the pipelines have of them
  std::vector<MemoryNeed> needs; ///< of the ranks that are here
  std::vector<std::string> hostKernels; ///< see RankDevices::findHostKernels
  std::vector<std::unique_ptr<Pipeline>> pipelines;
  /// Of the last request; held while it is asked about.
  Pipeline &last() const { return *pipelines[lastUsed]; }

private:
  Status connect(const SessionOptions &options);
  Status checkFiles();
  Status shareHost(std::chrono::milliseconds timeout);
  Status openAll(const std::string &folder, const SessionOptions &options);
  Status runShares(std::span<const PipelineRequest> requests);
  template <typename Body>
  Status together(std::span<const PipelineRequest> requests, Body body);
  class Turn;
  Status runShare(size_t share, std::span<const PipelineRequest> requests);
  size_t acquire();
  void acquire(size_t replica);
  void release(size_t replica, bool isOk);

  const OwnProcess process;
  Processes *processes = nullptr;
  std::unique_ptr<InputAgreement> agreement; ///< of processes
  std::mutex oneAtATime;                     ///< held during a run of processes

  std::mutex mutex; ///< of what follows
  std::condition_variable released;
  std::vector<char> isBusy; ///< by replica
  std::atomic<size_t> lastUsed = 0, turn = 0;
  std::atomic<bool> filesAreRead = false; ///< to the last byte, and copied
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_REPLICAS_H
