//===- Stage.h - One stage of a pipeline ----------------------------------===//
//
// One request at a time: bind the inputs, find which plan is for their shapes,
// and let every rank do what the step says (rank/Rank.h), on a thread of its
// own. What the stage itself does takes the same time for any number of ranks.
//
// Where ranks are processes, only one of them, or none, is here (World.h). All
// else is done for the whole stage, so that every process comes to the same
// conclusions; rank 0 of the world then collects the outputs.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_STAGE_STAGE_H
#define SHARDC_RUNTIME_STAGE_STAGE_H

#include "runtime/collectives/threads/SharedMemoryGroup.h"
#include "runtime/launch/HostNodes.h"
#include "runtime/launch/RankThreads.h"
#include "runtime/launch/RunEnd.h"
#include "runtime/plan/InputBinding.h"
#include "runtime/rank/Rank.h"
#include "runtime/stage/ShapePlan.h"
#include "runtime/stage/StageChannels.h"
#include "runtime/stage/Statistics.h"

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace shardc::runtime {

/// Which stage of which replica it is.
struct StagePlace {
  int stage = 0;
  int replica = 0;
  World world;
};

/// What a stage keeps of a program beside what its ranks do.
struct StageProgram {
  StageScalars scalars; ///< of its first rank, for what all ranks have alike
  ShapePlans plans;
  std::vector<std::unique_ptr<SharedMemoryGroup>> groups;
};

class Stage {
public:
  /// `artifact` and `stageChannels` live longer.
  static Status open(const Artifact &artifact, const StagePlace &place,
                     StageChannels &stageChannels,
                     const SessionOptions &options,
                     std::unique_ptr<Stage> &stage);

  /// Inputs and outputs are the model's; the stage writes its own outputs. With
  /// a state past has no data; it may be null: then past comes with the inputs.
  /// So may `end`: then nobody ends it.
  Status run(std::span<const InputTensor> given, std::span<Tensor> outputs,
             std::shared_ptr<CacheState> state, const RunEnd *end);
  /// The run at hand ends with that error, from any thread. Who has an end to
  /// watch calls it: one that comes before the ranks begin is found there.
  void fail(const Status &status) { failure.fail(status); }
  /// Before anything else, also beside other stages: each has other files to
  /// wait for. With options.loadsBeside weights may still come afterwards. A
  /// preflight tries the communicators instead. `all` lives longer.
  Status load(WeightArrivals &all);
  /// Next, once all stages are loaded; by all of them at the same time. `all`
  /// lives longer.
  Status linkStages(DeviceLinks &all);
  /// After the last request of a run: what was sent has come.
  Status drainLinks();
  /// Before a run that comes after one that failed.
  Status restartLinks();
  ~Stage();
  bool hasCaches() const;
  /// Whether some program of the stage reads the data of that input.
  bool usesInput(size_t input) const;
  /// Into `past`: the given tensors and, behind them, past of the stage's
  /// caches with the sizes that it has for this request, and no data.
  Status addPast(CacheState &caches, std::span<const InputTensor> given,
                 std::vector<InputTensor> &past);
  /// An empty state, or why the artifact has none.
  Status createState(int64_t capacity, std::shared_ptr<CacheState> &state);

  /// What devices noted of the runs since, into their plans. No stage runs.
  Status takeActivities();

  /// Of all profiles.
  std::vector<const artifact::Program *> allPrograms() const;
  RankMemory memoryOf(const Rank &rank) const;
  /// Adds those of the ranks that are here.
  Status measureLimits(std::vector<DeviceLimits> &all);
  int numRanks() const { return artifact.stageSize(); }
  int worldRank(int rank) const {
    return artifact.worldRank(place.replica, place.stage, rank);
  }
  /// Of the last successful run: what the ranks that are here ran, in their
  /// order; empty: there was none, or its plans are other shapes' now.
  std::vector<const RankShapePlan *> lastPlans() const;
  /// Of them: runs that their times sum up, and whether that is all of them.
  int measuredRuns() const { return last ? last->measuredRuns : 0; }
  bool measuresAll() const { return last && last->measuredRuns == last->uses; }

  /// A rank never came back: nothing here may be destroyed any more. So is what
  /// a failed open hands over.
  bool isStuck() const { return stuck; }

  const Artifact &artifact;
  const StagePlace place;
  std::vector<TensorInfo> inputInfos;
  mutable std::mutex mutex; ///< held during a run

private:
  Stage(const Artifact &artifact, const StagePlace &place,
        const SessionOptions &options);
  // StageOpen.cpp
  Status start(StageChannels &stageChannels);
  void beginThread(const Rank &rank, const std::vector<HostNode> &nodes);
  void findRanks();
  void findChannels(StageChannels &stageChannels);
  void addChannels(StageChannels &stageChannels, size_t profile, Rank &rank);
  Status checkPorts() const;
  Rank *rankHere(int rank) const; ///< null: it is elsewhere
  std::vector<int> worldRanks(std::span<const int> members) const;
  Status createGroups();
  Status createGroup(size_t profile, const std::vector<int> &members);
  Status createWorld();
  Status loadPrograms();
  std::string describeRank(int worldRank) const;
  std::string describePlace(const RankProgress &progress) const;
  void describeToOthers();

  // StageRun.cpp
  Status runRequest(std::span<const InputTensor> given);
  Status findProgram(const LoadedProgram *&found) const;
  Status chooseProgram(std::span<const InputTensor> given);
  Status choosePlan();
  void countUse();
  void findSkipped();
  void findInputPlaces();
  const artifact::Program &program() const { return *active->program; }
  StageProgram &kept() const { return *own[active->profile]; }

  // StageOutputs.cpp
  void findOutputDims();
  Status sizeOutputs();
  Status checkOutputs() const;
  Status finishFound();
  Status findSizes();
  Status sendFoundSizes(const Rank &rank) const;
  Status receiveFoundSizes(std::vector<int64_t> &symbols) const;
  Status collectOutputs();
  Status findBlocks();
  Status sendOutputs(Rank &rank) const;
  Status receiveOutput(uint32_t output, int rank);
  Status waitForOutput(Stream &stream, uint32_t output) const;

  /// Runs `job` for every rank that is here, on its thread; the first error is
  /// the answer. A rank that hangs in a kernel is given up some time after the
  /// error; one that only reads files or plans is not.
  enum class Job { Plans, RunsKernels };
  Status onAllRanks(Job kind, std::function<Status(Rank &)> newJob);
  void runJob(Rank &rank); ///< never throws
  Status checkAnswers() const;

  const SessionOptions options;
  RunFailure failure;
  WeightArrivals *arrivals = nullptr;
  std::vector<std::unique_ptr<LoadedProgram>> programs; ///< by profile
  std::vector<std::unique_ptr<StageProgram>> own;       ///< likewise
  std::unique_ptr<SharedMemoryGroup> everyone; ///< for the replica check
  bool describes = false; ///< this process's rank, to the others
  uint64_t clock = 0;
  uint64_t numPlacements = 0;      ///< of inputs, so far
  std::atomic<bool> stuck = false; ///< others ask, too

  // The request at hand; sized once, so that a run allocates nothing.
  const LoadedProgram *active = nullptr;
  ShapePlan *current = nullptr;
  ShapePlan *last = nullptr; ///< of the last successful run
  size_t lastProfile = 0;
  Step step;
  const RunEnd *runEnd = nullptr; ///< null: nobody ends it
  size_t numCovered = 0;          ///< of step.covered
  AlignedBuffer collected;        ///< a block of an output, from elsewhere

  /// What the rank threads call; members, since a thread that hangs keeps them.
  std::function<Status(Rank &)> job;
  struct Call {
    Stage *stage;
    void operator()(int number) const {
      stage->runJob(*stage->ranks[static_cast<size_t>(number)]);
    }
  };
  Call call{this};

public:
  /// Those that are here; they go before what they use.
  std::vector<std::unique_ptr<Rank>> ranks;

private:
  RankThreads threads; ///< last: joined before anything above is destroyed
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_STAGE_STAGE_H
