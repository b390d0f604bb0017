//===- Rank.h - One rank of a stage ---------------------------------------===//
//
// Owns its device's stream, its weights, memory and plans, and does by itself
// what a step asks for: it evaluates its own sizes, binds its own plan, makes
// room in its part of the caches, runs, and copies its blocks of the outputs.
// Ranks meet in collectives and transfers only.
//
// While it is opened, and for each step, the stage calls it on its own thread;
// nothing else touches it then. What others may ask meanwhile is its progress.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_RANK_RANK_H
#define SHARDC_RUNTIME_RANK_RANK_H

#include "runtime/artifact/Artifact.h"
#include "runtime/device/DeviceBlocks.h"
#include "runtime/device/DeviceLimits.h"
#include "runtime/device/Staging.h"
#include "runtime/launch/HostThreads.h"
#include "runtime/launch/SessionOptions.h"
#include "runtime/rank/DeviceLinks.h"
#include "runtime/rank/LaunchStats.h"
#include "runtime/rank/LoadedValues.h"
#include "runtime/rank/RankProgram.h"
#include "runtime/rank/Step.h"
#include "runtime/rank/TracedRuns.h"
#include "runtime/weights/DeviceWeights.h"

#include <array>
#include <map>
#include <memory>
#include <vector>

namespace shardc::runtime {

struct TransferEnd;

/// Where a rank stands, and what it has in common with the others of its stage,
/// all of which lives longer.
struct RankPlace {
  const Artifact &artifact;
  const SessionOptions &options;
  RunFailure &failure;
  World world;
  int replica = 0;
  int stage = 0;
  int rank = 0;           ///< of the stage
  size_t nth = 0;         ///< among those of the stage that are here
  bool hasOthers = false; ///< of the stage, in this process
  int coreShare = 1;      ///< of the process's cores, before it is bound

  int worldRank() const { return artifact.worldRank(replica, stage, rank); }
  /// Replicas read the weights that were copied for the first one.
  int weightsRank() const { return artifact.worldRank(0, stage, rank); }
  /// Of its kernels on the host. Processes have agreed on a number.
  int kernelThreads() const {
    return options.threads > 0 ? options.threads
           : world.transport   ? world.transport->kernelThreads()
                               : coreShare;
  }
  /// Some rank, of the step at hand.
  bool hasFailed() const { return failure.failed() || world.hasFailed(); }
  /// Changes as long as somebody gets on, here or in another process.
  uint64_t moved() const {
    return (failure.progress ? failure.progress() : 0) + world.progress();
  }
};

class Rank {
public:
  using Programs = std::span<const std::unique_ptr<LoadedProgram>>;
  /// `programs`, by profile, live longer.
  Rank(const RankPlace &place, Programs programs);
  ~Rank();

  const RankPlace place;
  RankProgress progress;
  Status status; ///< of what the stage asked for last

  // Opening (Rank.cpp): its device, then whom it meets, by profile.
  Status openDevice();
  void addGroup(size_t profile, std::unique_ptr<Communicator> communicator);
  /// All ranks of the stage, to compare what they hold alike.
  void addWorld(std::unique_ptr<Communicator> communicator);
  /// By instruction of `run`; null: it is no transfer.
  void addChannel(size_t profile, StageChannel *channel);
  /// A device's values go between ranks over its own communicators, or by way
  /// of the host's.
  Status joinDeviceGroups();
  /// One small sum over each group of each program.
  Status tryGroups();
  Status measureLimits(); ///< its limits, afterwards

  // Weights, one program after the other (RankLoad.cpp).
  Status placeWeights(size_t profile);
  Status computeLoaded(size_t profile); ///< the load-time program
  void endLoading(size_t profile);      ///< once all ranks have
  Status shareLoaded(size_t profile);
  /// Brings what is still to come, beside the first runs (RankFeed.cpp).
  Status startFeed(WeightArrivals &all);
  void stopFeed() { feed.reset(); }
  int64_t comingBytes() const { return deviceWeights.comingBytes(); }

  // To and from other stages' devices (RankLinks.cpp).
  Status linkStages(DeviceLinks &all);
  bool hasLinks() const;
  Status drainLinks();
  Status restartLinks();

  // A step (RankStep.cpp).
  Status run(const Step &step);
  /// Its blocks of the outputs: part of run, but where the data decide on their
  /// sizes.
  Status copyOutputs(const Step &step);
  /// Symbols as the last step left them.
  std::span<const int64_t> foundSymbols() const { return symbols; }
  /// Whether its block of an output of the last step is the one that counts,
  /// and where the host reads it.
  bool copiesOutput(uint32_t output) const {
    return shape->outputs[output].copies;
  }
  const TensorView &hostOutput(uint32_t output) const {
    return hostOutputs[output];
  }
  /// Others may be ahead of it, or behind: after a step that failed.
  void dropGraphs();

  // What there is to know of it, while nothing runs.
  Device &device() const { return *ownDevice; }
  DeviceStream &stream() const { return *ownStream; }
  const RankShapePlan *planOf(size_t profile, size_t slot) const;
  /// The device notes when it did what, into the plans.
  bool traces() const { return isTraced; }
  Status takeActivities();
  std::span<const WeightTiming> weightTimings() const;
  const WeightSlices &weightSlices() const { return weights; }
  int64_t loadedBytes() const { return loaded.bytes(); }
  int64_t arrangedBytes() const { return packed.bytes(); }
  /// Values, scratch, parts of inputs.
  int64_t arenaBytes() const;
  const LaunchStats &launchStats() const { return launches; }
  const DeviceLimits &deviceLimits() const { return limits; }
  /// Kernels that the host had to take over from the device.
  std::vector<std::string> movedToHost() const;

private:
  // RankLoad.cpp
  Status placeBuffer(RankProgram &own, uint32_t buffer);
  Status passBuffer(RankProgram &own, uint32_t buffer, bool isRead);

  RankResources resourcesOf(RankProgram &own);
  RunControl controlOf(std::span<InstructionTiming> timings);
  Status growBuffer(DeviceBuffer &memory, int64_t bytes, const char *what,
                    bool keep);

  // RankFeed.cpp
  uint64_t firstStep(int stage, size_t profile) const;
  WeightFeedPlace feedPlace();
  void openGate(size_t profile);

  // RankLinks.cpp
  using StagePair = std::array<int, 2>; ///< sender first
  const artifact::Program &programOf(int stage, size_t profile) const;
  bool mayLink(const StagePair &stages, size_t profile) const;
  StagePair stagesOf(const TransferEnd &end) const;
  std::array<int, 2> endsOf(const StagePair &stages) const;

  // RankStep.cpp
  Status begin(const Step &step);
  Status prepare();
  Status placeInputs();
  Status placeFromDevice(size_t input, const DeviceView &whole);
  Status awaitCallers();
  Status awaitCaller(const DeviceView &there, const char *kind,
                     std::string_view name);
  Status findOutputs();
  Status fetchOutputs(const Step &step);
  Status copyToDevice(uint32_t output, const DeviceView &whole);

  // RankSegments.cpp
  PlanContext contextOf(size_t segment) const;
  Status prepareSegment(size_t segment);
  Status bindPlan(size_t number, SegmentPlan &segment);
  Status bindSegment(RankPlan &plan);
  Status growArena(int64_t bytes);
  /// `segment` is the one that comes next afterwards.
  Status runSegment(size_t &segment);
  bool mayCapture() const;
  Status prepareGraph(SegmentPlan &segment, const RunControl &control,
                      LaunchMode &mode);
  Status launchSegment(SegmentPlan &segment);

  // RankSizes.cpp: what the data decide.
  Status readSizes(const BoundInstruction &instruction);
  void setSizes(const BoundInstruction &instruction);
  Status readCondition(const BoundInstruction &instruction, bool &holds);
  Status evaluateSizes();

  std::unique_ptr<Communicator> world; ///< null: replicas are not checked
  Device *ownDevice = nullptr;
  std::unique_ptr<DeviceStream> ownStream;
  std::unique_ptr<KernelLibrary> library; ///< null: none were generated
  std::unique_ptr<Staging> staging;       ///< null on the host
  std::unique_ptr<HostCalls> hostCalls;   ///< null on the host
  std::unique_ptr<DeviceBlocks> blocks;   ///< null on the host
  WeightSlices weights;                   ///< of all profiles
  DeviceWeights deviceWeights;            ///< their places
  LoadedValues loaded;                    ///< what was computed of them
  PackedOperands packed;                  ///< of both, on the host
  DeviceBuffer arena;
  DeviceBuffer inputMemory;  ///< packed parts of inputs
  DeviceBuffer inputStaging; ///< the same on their way to a device
  /// By sender and receiver; null: by way of the host.
  std::map<StagePair, std::unique_ptr<DeviceLink>> links;
  DeviceLinks *allLinks = nullptr;
  /// By profile; their channels and graphs go before what they use.
  std::vector<std::unique_ptr<RankProgram>> programs;
  uint64_t moves = 0;   ///< of MemoryPlacement
  SpentByRank spent;    ///< on the host alone
  LaunchStats launches; ///< of all runs
  DeviceLimits limits;  ///< once they were measured
  bool isTraced = false;
  TracedRuns traced;

  // The step at hand, or the last one.
  const Step *step = nullptr;
  RankProgram *active = nullptr;
  RankShapePlan *shape = nullptr;
  std::vector<int64_t> symbols;
  std::vector<std::byte *> inputs;    ///< this rank's part of each
  std::vector<Staging> outputStaging; ///< by output of the program
  std::vector<TensorView> hostOutputs;
  std::vector<uint64_t> hashes;                   ///< of the replica check
  std::vector<const BoundInstruction *> inFlight; ///< while it is measured

  WeightArrivals *arrivals = nullptr;
  std::unique_ptr<WeightFeed> feed; ///< brings weights; null before it is open
  WeightGate gate;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_RANK_RANK_H
