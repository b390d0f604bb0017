//===- Replicas.h - A session's inside ------------------------------------===//
//
// Copies of the pipeline that run requests side by side (data parallelism for
// inference). A request goes to a replica that has nothing to do; one with a
// state to the replica that holds it.
//
// Where ranks are processes, rank 0 is called, and tells the others what it does
// (Command.h), which they do too: each has its own part of it. Requests then
// come one call at a time, and the i-th share goes to the i-th replica, so that
// all choose alike.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SESSION_REPLICAS_H
#define SHARDC_RUNTIME_SESSION_REPLICAS_H

#include "runtime/base/OwnProcess.h"
#include "runtime/launch/RunEnd.h"
#include "runtime/memory/MemoryNeeds.h"
#include "runtime/session/CommandStream.h"
#include "runtime/session/Pipeline.h"
#include "runtime/session/Settings.h"

#include <condition_variable>
#include <map>

namespace shardc::runtime {

/// A state, as each process has it.
struct KeptState {
  uint64_t owner = 0; ///< Replicas::id
  int64_t number = 0; ///< that commands call it by
  size_t replica = 0; ///< that holds it
  int64_t capacity = 0;
  StageStates stages;
  std::vector<PipelineRequest> requests; ///< of the run at hand
  uint64_t lastBegun = 0, lastDone = 0;  ///< requests of this process
  /// Of rank 0: why processes have come apart in it, until it is reset.
  Status lost;
  bool isLostByOthers = false; ///< a rank of another replica failed

  void reset(); ///< but for `lost`
};

class Replicas {
public:
  /// `opened`: the artifact, where it is open already; null: it is read.
  static Status open(const std::string &folder, const SessionOptions &options,
                     std::shared_ptr<Artifact> opened,
                     std::unique_ptr<Replicas> &replicas);

  /// Spreads the requests. All of them are tried; the first error is returned.
  Status run(std::span<const PipelineRequest> requests,
             const RunOptions &options);
  /// The state's requests, on its replica; several where it has pages for all of
  /// them.
  Status runWith(KeptState &state, const RunOptions &options);
  /// Those that the feed has for the state, a pool of pages.
  Status runFeed(KeptState &state, RequestFeed &feed,
                 const RunOptions &options);
  /// On that replica; below 0: each in turn.
  Status createState(int64_t capacity, int replica,
                     std::unique_ptr<KeptState> &state);
  Status copyState(const KeptState &state, std::unique_ptr<KeptState> &copy);
  Status resetState(KeptState &state);
  /// Whether runs with it are errors, and why.
  Status checkState(const KeptState &state) const;
  bool isLostByOthers(const KeptState &state) const;
  /// All processes are done with all requests so far, well or not.
  Status confirm();
  void dropState(std::unique_ptr<KeptState> state);
  /// Gives back what states hold, for good: others take this one's place.
  void forgetStates();

  /// Of processes other than rank 0: does what it says, until it closes its
  /// session.
  Status follow();
  /// Of the ranks here: the caches of a state; of the one that was used last,
  /// where this process follows.
  std::vector<StateMemory> memoryOf(const KeptState &state) const;
  const std::vector<StateMemory> &followedMemory() const { return followed; }

  bool isStuck() const;
  /// An error in a process that was forked after open: the ranks' threads are
  /// not there, and nothing may be destroyed.
  Status checkProcess() const;
  bool isForked() const { return process.isForked(); }
  /// An error of one that was opened to see whether ranks fit.
  Status checkLoaded() const;

  explicit Replicas(std::shared_ptr<Artifact> artifact)
      : ownArtifact(std::move(artifact)), artifact(*ownArtifact) {}
  ~Replicas();

  /// Files stay mapped as long as somebody has it.
  const std::shared_ptr<Artifact> ownArtifact;
  Artifact &artifact;
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
  Status openArtifact(const std::string &folder, const SessionOptions &options);
  Status runShares(std::span<const PipelineRequest> requests, RunEnd *end);
  /// Requests of a state, on its replica, or of none.
  struct Part {
    KeptState *state = nullptr;
    std::span<const PipelineRequest> requests;
  };
  Status runParts(std::span<const Part> parts, RunEnd *end);
  Status atOnce(size_t count, const std::function<Status(size_t)> &run);
  template <typename Body> Status withFiles(Body body);
  /// What processes do together. An error of one, or what it throws, ends all:
  /// they would be a command apart from then on.
  template <typename Body> Status asAll(Body body) {
    return world.ended(withoutExceptions(body));
  }
  /// A replica that is taken, or what all processes do, and free again whatever
  /// happens.
  class Turn {
  public:
    /// Of one of the replicas in [first, last).
    Turn(Replicas &all, size_t first, size_t last, RunEnd *end)
        : all(all), end(end), acquired(all.acquire(first, last, end, number)) {}
    /// What one process tells all others.
    explicit Turn(Replicas &all, RunEnd *end = nullptr)
        : Turn(all, all.pipelines.size(), all.pipelines.size() + 1, end) {}
    ~Turn() {
      if (acquired.isOk())
        all.release(number, isOk);
    }
    Turn(const Turn &) = delete;

    const Status &status() const { return acquired; }
    Status run(std::span<const PipelineRequest> requests);
    Status run(RequestFeed &feed);

  private:
    Replicas &all;
    RunEnd *const end;
    size_t number = 0;
    const Status acquired; ///< after number, which it sets
    bool isOk = false;
  };
  Status runTurn(size_t replica, std::span<const PipelineRequest> requests,
                 RunEnd *end);
  // ReplicaCommands.cpp
  Status checkLeads() const;
  Status tell(const Command &command, std::span<const void *const> data = {});
  Status describe(const Part &part, Command &command);
  Status makeState(int64_t number, size_t replica, int64_t capacity,
                   std::unique_ptr<KeptState> &state);
  Status makeCopy(const KeptState &state, int64_t number,
                  std::unique_ptr<KeptState> &copy);
  Status obey(const Command &command, std::span<const void *const> data);
  Status obeyRun(const Command &command, std::span<const void *const> data);
  Status findState(int64_t number, KeptState *&state);
  void remember(KeptState &state);
  void reset(KeptState &state);
  Status leadRun(std::span<const Part> parts, RunEnd *end);
  Status leadOnce(std::span<const Part> parts, RunEnd *end, uint64_t &number);
  // ReplicaFeeds.cpp
  class CheckedFeed;
  Status leadFeed(KeptState &state, RequestFeed &feed, RunEnd *end);
  struct Joining;
  Status runJoined(const Part &part);
  void runTogether(std::span<Joining *const> together);
  // ReplicaRequests.cpp
  Status runRequest(uint64_t number, std::span<const Part> parts,
                    const std::function<Status()> &body);
  Status settle();
  Status meet(uint64_t number);
  uint64_t nextRequest() const;
  void takeBack(const Settlement &found);
  Status givenUp(std::span<const Part> parts);

  Status runShare(size_t share, std::span<const PipelineRequest> requests,
                  RunEnd *end);
  /// Waits for one of the replicas in [first, last), or for the end of the run.
  Status acquire(size_t first, size_t last, RunEnd *end, size_t &taken);
  void release(size_t replica, bool isOk);

  static uint64_t nextId();

  const OwnProcess process;
  const uint64_t id = nextId(); ///< no other one has it
  Processes *processes = nullptr;
  std::unique_ptr<CommandStream> commands; ///< null: no processes
  std::chrono::milliseconds patience{0};   ///< with processes that settle
  bool isPreflight = false;
  bool isLeading = false; ///< others follow; they are told of the end
  std::vector<const void *> commandData;
  std::atomic<int64_t> lastState = 0; ///< number
  /// Of a process that follows, by number.
  std::map<int64_t, std::unique_ptr<KeptState>> states;
  std::map<int64_t, KeptState *> known; ///< all that there are
  std::vector<StateMemory> followed;
  /// The last request that processes have given up together, and why.
  uint64_t givenUpUntil = 0, lastFailed = 0;
  Status givenUpWith;
  Deadlines deadlines;
  mutable std::mutex lostMutex; ///< of KeptState::lost, isLostByOthers

  std::mutex joinMutex; ///< of feeds that run together
  std::condition_variable joinChanged;
  size_t numFeeds = 0;
  bool isJoined = false; ///< some run
  std::vector<Joining *> joining;

  std::mutex mutex; ///< of what follows
  std::condition_variable released;
  std::vector<char> isBusy; ///< by replica; the last one: all processes
  std::atomic<size_t> lastUsed = 0, turn = 0;
  std::atomic<bool> filesAreRead = false; ///< to the last byte, and copied
};

/// What weights were read from is as it was, before and after.
template <typename Body> Status Replicas::withFiles(Body body) {
  SHARDC_RETURN_IF_ERROR(checkFiles());
  const Status status = body();
  const Status files = checkFiles(); // the cause, if both are errors
  if (files.isOk())
    return status;
  return status.isOk() ? files
                       : artifactError(files.message(), "; ", status.message())
                             .at(status.place());
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_REPLICAS_H
