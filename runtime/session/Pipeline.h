//===- Pipeline.h - One replica: its stages, one after the other ----------===//
//
// Each stage has a thread that gives it one request after the
// other; what stages send each other waits in mailboxes. So a stage works on a
// request while the one before it is at the next:
//
//   stage 0   a0 a1 a2 a3
//   stage 1      a0 a1 a2 a3          (GPipe, Huang et al. 2019)
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SESSION_PIPELINE_H
#define SHARDC_RUNTIME_SESSION_PIPELINE_H

#include "runtime/plan/MicroBatches.h"
#include "runtime/stage/Stage.h"

#include <condition_variable>
#include <functional>

namespace shardc::runtime {

/// What a state keeps in each stage; null for one without caches.
using StageStates = std::vector<std::shared_ptr<CacheState>>;

struct PipelineRequest {
  std::span<const InputTensor> inputs;
  std::span<Tensor> outputs; ///< the model's
  StageStates *states = nullptr;
};

/// Requests that come one after the other while others run, all with the states
/// of one pool of pages.
class RequestFeed {
public:
  virtual ~RequestFeed() = default;
  /// The next one, whose memory stays until it is done; null: none comes any
  /// more, or none is there yet where nobody `waits`. Waits until stop() at most.
  virtual const PipelineRequest *next(bool waits) = 0;
  /// All stages are done with the first one that was not.
  virtual void done() = 0;
  /// Those that are not done have failed: next() is to return. From any thread.
  virtual void stop() = 0;
  /// Whether those at hand are not to run together with other feeds': if one of
  /// them fails too late, it is to be known which.
  virtual bool isApart() const { return false; }
};

class Pipeline {
public:
  /// `artifact` lives longer.
  static Status open(const Artifact &artifact, int replica, const World &world,
                     const SessionOptions &options,
                     std::unique_ptr<Pipeline> &pipeline);

  /// Runs all requests, several at a time where there are several stages; after
  /// an error all of them have failed, and states are as before; but empty where
  /// a program had begun to set them. A state is that of one request at most, but
  /// for pools of pages. `end`: null where nobody ends it.
  Status run(std::span<const PipelineRequest> requests, RunEnd *end);
  /// The same for as long as the feed has requests, which is asked whenever the
  /// first stage has nothing to do: so none is idle between one and the next.
  Status run(RequestFeed &feed, RunEnd *end);
  Status createStates(int64_t capacity, StageStates &states);
  /// What is wrong with a request by itself, before any stage has it.
  /// `ordered`, by input of the model, are its tensors in `all`: the request's,
  /// then those that its states keep, without elements.
  Status checkRequest(const PipelineRequest &request,
                      std::vector<InputTensor> &all,
                      std::vector<const InputTensor *> &ordered) const;

  /// Of the model.
  const std::vector<TensorInfo> &inputs() const {
    return stages[0]->inputInfos;
  }
  const std::vector<TensorInfo> &outputs() const { return outputInfos; }
  std::vector<CacheInfo> caches() const;
  /// Whether some program sets caches, whatever they held.
  bool setsCaches() const;

  /// A rank never came back: nothing here may be destroyed any more. So is what
  /// a failed open hands over.
  bool isStuck() const;

  std::unique_ptr<WeightArrivals> arrivals; ///< of the stages, which use it
  std::vector<std::unique_ptr<Stage>> stages;

private:
  Pipeline(const Artifact &artifact, const World &world)
      : artifact(artifact), world(world), stageChannels(world) {}
  Status start(int replica, const SessionOptions &options);
  Status describeOutputs();
  void joinTables();
  Status checkOutputs(const PipelineRequest &request) const;
  Status cut(const PipelineRequest &request, MicroBatches &into);
  // PipelineRun.cpp
  struct Flight {
    PipelineRequest request;
    std::vector<InputTensor> given; ///< with past
  };
  Status runParts(std::span<const PipelineRequest> parts);
  Status runFlights();
  Status prepare(Flight &flight);
  Flight *await(size_t stage, size_t number);
  Flight *fetch(size_t number);
  void finishFlight(size_t stage);
  void abort();
  bool hasEnded();
  /// All stages at the same time.
  Status onStages(std::function<Status(Stage &)> step);
  void runStep(int stage);  ///< never throws
  void runStage(int stage); ///< all requests; never throws
  void failStage(int stage);
  void failAll(const Status &why); ///< from any thread
  Status finish();
  void takeBack(size_t request);

  /// What the stages' threads call.
  struct Job {
    Pipeline *pipeline;
    void (Pipeline::*step)(int stage);
    void operator()(int stage) const { (pipeline->*step)(stage); }
  };

  const Artifact &artifact;
  const World world;
  StageChannels stageChannels;
  std::unique_ptr<DeviceLinks> links; ///< null: there is one stage
  bool hasFailed = false;             ///< the last run
  std::function<Status(Stage &)> stageStep;
  std::vector<TensorInfo> outputInfos;
  std::mutex mutex; ///< held during a run

  // The run at hand.
  std::vector<MicroBatches> parts; ///< by request
  std::vector<PipelineRequest> allParts;
  std::vector<char> isBatch;     ///< by input of the request
  RequestFeed *feed = nullptr;   ///< null: all requests are there
  RunEnd *end = nullptr;         ///< null: nobody ends it
  std::vector<Flight> flights;   ///< by request; of a feed a ring of them
  std::vector<InputTensor> past; ///< of one, of a stage
  std::vector<InputTensor> pool; ///< past of all requests of a feed
  std::vector<Status> statuses;  ///< by stage
  std::mutex telling;            ///< held while the feed is told
  std::mutex flow;               ///< of what follows; after `telling`
  std::condition_variable moved;
  size_t begun = 0, done = 0;   ///< requests; done: the feed knows
  std::vector<size_t> finished; ///< by stage: requests
  bool isClosed = false;        ///< no more begin
  bool isAborted = false;
  Job runs{this, &Pipeline::runStage};
  RankThreads threads; ///< one a stage; last: joined before all of the above
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_PIPELINE_H
