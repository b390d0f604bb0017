//===- Stage.h - One stage of a pipeline ----------------------------------===//
//
// Owns the threads of the stage's ranks and what each of them keeps between
// runs. One request at a time: bind the inputs, find or prepare the plan of
// their shapes, let every rank run its plan and copy its blocks of the outputs.
//
// Where ranks are processes, only one of them, or none, is here (World.h). All
// else is done for the whole stage, so that every process comes to the same
// conclusions; rank 0 of the world then collects the outputs.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_STAGE_STAGE_H
#define SHARDC_RUNTIME_STAGE_STAGE_H

#include "runtime/artifact/Artifact.h"
#include "runtime/cache/CacheState.h"
#include "runtime/device/DeviceLimits.h"
#include "runtime/device/Staging.h"
#include "runtime/launch/RankThreads.h"
#include "runtime/plan/InputBinding.h"
#include "runtime/stage/DeviceLinks.h"
#include "runtime/stage/LoadedProgram.h"
#include "runtime/stage/SessionOptions.h"
#include "runtime/stage/StageChannels.h"
#include "runtime/stage/Statistics.h"
#include "runtime/tensor/Tensor.h"
#include "runtime/weights/DeviceWeights.h"

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace shardc::runtime {

/// What one rank keeps between runs. Only its thread touches it during a job.
struct RankState {
  std::unique_ptr<Communicator> world; ///< null: replicas are not checked
  WeightSlices weights;                ///< of all profiles
  DeviceWeights deviceWeights;         ///< their places
  std::vector<DeviceBuffer> loaded;    ///< what was computed of them
  PackedOperands packed;               ///< of both, on the host
  DeviceBuffer arena;
  DeviceBuffer inputMemory;  ///< packed parts of inputs
  DeviceBuffer inputStaging; ///< the same on their way to a device
  Device *device = nullptr;
  std::unique_ptr<DeviceStream> stream;
  /// To and from other stages' devices; null: by way of the host.
  std::map<std::array<int, 2>, std::unique_ptr<DeviceLink>> links;
  std::unique_ptr<KernelLibrary> library; ///< null: none were generated
  /// By what is read, so that one value does not take another's place; null on
  /// the host.
  std::unique_ptr<Staging> staging;
  std::unique_ptr<HostCalls> hostCalls; ///< null on the host
  std::vector<Staging> outputStaging;   ///< by output of the program
  std::vector<TensorView> hostOutputs;  ///< the rank's parts, for the host
  std::vector<std::byte *> inputs;      ///< this rank's part of each
  std::vector<int64_t> symbols;         ///< of the current run
  /// By rank: the scalars with these symbols, those of the inputs' shapes until
  /// the run binds others.
  std::span<const std::vector<int64_t>> scalars;
  std::vector<std::vector<int64_t>> boundScalars;
  DeviceLimits limits; ///< once they were measured
  RankProgress progress;
  uint64_t moves = 0;   ///< of MemoryPlacement
  LaunchStats launches; ///< of all runs
  std::vector<uint64_t> hashes;
  std::vector<const BoundInstruction *> inFlight; ///< while it is measured
  bool traces = false;                 ///< the device notes when it did what
  std::vector<ShapePlan *> tracedRuns; ///< since that was taken; null: gone
  uint64_t runsBefore = 0;             ///< of all runs, those before these
  std::vector<std::array<uint64_t, 2>> loadedHashes; ///< on a device
  Status status;                                     ///< of the current job
  std::unique_ptr<WeightFeed> feed; ///< brings weights; null before it is open
  WeightGate gate;
};

/// Which stage of which replica it is.
struct StagePlace {
  int stage = 0;
  int replica = 0;
  World world;
};

struct TransferEnd;

class Stage {
public:
  /// `artifact` and `stageChannels` live longer.
  static Status open(const Artifact &artifact, const StagePlace &place,
                     StageChannels &stageChannels,
                     const SessionOptions &options,
                     std::unique_ptr<Stage> &stage);

  /// Inputs and outputs are the model's; the stage writes its own outputs. With
  /// a state past has no data; it may be null: then past comes with the inputs.
  Status run(std::span<const InputTensor> given, std::span<Tensor> outputs,
             std::shared_ptr<CacheState> state);
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
  /// Of the request at hand, or of the last one.
  const artifact::Program &program() const { return *active->program; }
  RankMemory memoryOf(int rank) const;
  /// By rank: when its weights came, once all have.
  std::vector<std::span<const WeightTiming>> weightTimings() const;
  /// Adds those of the ranks that are here.
  Status measureLimits(std::vector<DeviceLimits> &all);
  int numRanks() const { return static_cast<int>(ranks.size()); }
  int worldRank(int rank) const {
    return artifact.worldRank(place.replica, place.stage, rank);
  }

  /// A rank never came back: nothing here may be destroyed any more. So is what
  /// a failed open hands over.
  bool isStuck() const { return stuck; }

  const Artifact &artifact;
  const StagePlace place;
  std::vector<int> localRanks; ///< of the stage, those that are here
  std::vector<TensorInfo> inputInfos;
  std::vector<RankState> ranks;
  const ShapePlan *last = nullptr; ///< of the last successful run
  mutable std::mutex mutex;        ///< held during a run

private:
  Stage(const Artifact &artifact, const StagePlace &place,
        const SessionOptions &options);
  Status start(StageChannels &stageChannels);
  void findChannels(StageChannels &stageChannels);
  void createChannels(StageChannels &stageChannels, size_t profile, int rank);
  Status checkPorts() const;
  // StageLinks.cpp
  using StagePair = std::array<int, 2>; ///< sender first
  Status linkRank(int rank);
  Status drainRank(int rank);
  Status restartRank(int rank);
  bool hasLinks() const;
  const artifact::Program &programOf(int stage, size_t profile) const;
  bool mayLink(const StagePair &stages, size_t profile) const;
  StagePair stagesOf(const TransferEnd &end) const;
  std::array<int, 2> endsOf(const StagePair &stages, int rank) const;

  Status createGroups();
  Status createGroup(LoadedProgram &loaded, const std::vector<int> &members);
  Status openDevice(int rank);
  Status joinDeviceGroups(int rank);
  bool hasFailed() const; ///< some rank, of the step at hand
  Status tryGroups(int rank);
  Status measureRank(int rank);
  std::vector<int> worldRanks(std::span<const int> members) const;
  Status createWorld();
  Status loadPrograms();
  Status loadRank(int rank);
  Status runLoadRank(int rank);
  Status shareLoaded(int rank);
  Status placeWeights(int rank, std::span<const int64_t> scalars);
  Status startFeed(int rank);
  uint64_t firstStep(int stage, size_t profile) const;
  WeightFeedPlace feedPlaceOf(int rank) const;
  void openGate(int rank);
  void freePassing(int rank);
  Status hashLoaded(int rank, const DeviceBuffer &memory,
                    std::array<uint64_t, 2> &hash);

  Status runRequest(std::span<const InputTensor> given);
  Status findProgram(LoadedProgram *&found) const;
  Status chooseProgram(std::span<const InputTensor> given);
  Status findPlan(ShapePlan *&plan);
  void countMeasured(ShapePlan &plan);
  void takeLeast(std::vector<std::unique_ptr<ShapePlan>> &plans,
                 std::unique_ptr<ShapePlan> &taken);
  Status preparePlan(std::unique_ptr<ShapePlan> &plan);
  Status prepareRank(int rank);
  void forgetTraced(const ShapePlan &plan);
  void findSkipped();
  Status runRank(int rank);

  // StageOutputs.cpp
  Status sizeOutputs();
  Status copyOutputs(int rank);
  Status fetchOutputs(int rank);
  Status assignFoundOutputs();
  Status sendFoundSizes() const;
  Status receiveFoundSizes(std::vector<std::vector<int64_t>> &scalars) const;
  Status collectOutputs();
  Status sendOutput(uint32_t output, int rank) const;
  Status receiveOutput(uint32_t output, int rank);
  Status waitForOutput(Stream &stream, uint32_t output) const;
  bool isFoundHere() const { return !localRanks.empty(); }

  // StageSegments.cpp
  PlanContext contextOf(int rank, size_t segment,
                        std::span<const std::vector<int64_t>> scalars,
                        const InputSlices &inputs) const;
  Status placeInputs(int rank);
  Status prepareSegment(int rank, size_t segment);
  Status bindPlan(int rank, size_t number,
                  std::span<const std::vector<int64_t>> scalars,
                  const InputSlices &inputs, SegmentPlan &segment);
  Status bindSegment(int rank, RankPlan &plan);
  /// `segment` is the one that comes next afterwards.
  Status runSegment(int rank, size_t &segment);
  Status growBuffer(int rank, DeviceBuffer &memory, int64_t bytes,
                    const char *what, bool keep);
  Status growArena(int rank, int64_t bytes);
  // StageGraphs.cpp
  bool mayCapture(int rank) const;
  Status prepareGraph(int rank, SegmentPlan &segment, const RunControl &control,
                      LaunchMode &mode);
  Status launchSegment(int rank, SegmentPlan &segment);
  void dropGraphs();

  RunControl controlOf(int rank, std::span<InstructionTiming> timings);
  Status readSizes(int rank, const BoundInstruction &instruction);
  void setSizes(int rank, const BoundInstruction &instruction);
  Status readCondition(int rank, const BoundInstruction &instruction,
                       bool &holds);
  Status evaluateSizes(int rank);

  int weightsRank(int rank) const;
  RankResources resourcesOf(int rank);

  /// Runs (this->*step)(rank) on every rank; the first error is the answer. A
  /// rank that hangs in a kernel is given up some time after the error; one
  /// that only reads files or plans is not.
  enum class Step { Plans, RunsKernels };
  Status onAllRanks(Status (Stage::*step)(int), Step kind);
  std::string describeRank(int worldRank) const;
  std::string describePlace(const RankProgress &progress) const;
  void describeToOthers();

  const SessionOptions options;
  RunFailure failure;
  DeviceLinks *links = nullptr;
  WeightArrivals *arrivals = nullptr;
  std::vector<std::unique_ptr<LoadedProgram>> programs; ///< by profile
  LoadedProgram *active = nullptr;
  std::unique_ptr<SharedMemoryGroup> everyone; ///< for the replica check
  bool describes = false; ///< this process's rank, to the others
  uint64_t clock = 0;
  bool stuck = false;

  // The request at hand; sized once, so that a run allocates nothing.
  std::vector<const InputTensor *> orderedInputs;
  std::span<Tensor> requestOutputs;
  /// A rank that hangs keeps it, whatever becomes of the caller's.
  std::shared_ptr<CacheState> state;
  std::vector<char> skippedInputs; ///< the state has it, or it is not read here
  std::vector<char> keptOutputs;   ///< of the program: the state has it
  AlignedBuffer collected;         ///< a block of an output, from elsewhere
  ShapePlan *current = nullptr;
  ShapePlan *preparing = nullptr;
  Status (Stage::*currentStep)(int) = nullptr;
  void runStep(int rank); ///< never throws

  /// What the rank threads call; a member, since a thread that hangs keeps it.
  struct Job {
    Stage *stage;
    void operator()(int number) const {
      stage->runStep(stage->localRanks[static_cast<size_t>(number)]);
    }
  };
  Job job{this};

  RankThreads threads; ///< last: joined before anything above is destroyed
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_STAGE_STAGE_H
