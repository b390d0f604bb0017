//===- Predictor.h - Seconds and bytes of a model under given degrees -----===//
//
// Stages are cut as the compiler will cut them (CutSearch.h), ops are split as
// it will split them (AxisRoles.h), and each is priced by itself (RunCost.h).
// The stages of a pipeline follow each other, m micro-batches behind each other:
//
//   seconds = all stages once + (m - 1) of the slowest one + the transfers
//
// What the slowest rank does not do meanwhile is the bubble.
//
// Example, llama3-70b on 8 H100, batch 32, steps behind 8192 positions, tp 8:
// 5.3 ms to read 17.6 GB of weights, 3.6 ms for 10.7 GB of keys and values, and
// 160 all_reduces of 0.5 MB, 20 us each.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_DEGREES_PREDICTOR_H
#define SHARDC_PASSES_PLAN_DEGREES_PREDICTOR_H

#include "passes/plan/ChooseSplits.h"
#include "passes/plan/cost/RunCost.h"
#include "passes/plan/degrees/Degrees.h"
#include "passes/plan/degrees/Workload.h"

#include <map>

namespace shardc::plan {

/// Of one request, by the slowest rank.
struct RunPrediction {
  double total = 0;
  Seconds busy;      ///< transfers between stages are communication
  double bubble = 0; ///< waiting for other stages
};

/// Bytes of the fullest rank.
struct MemoryPrediction {
  double weights = 0, activations = 0, kv = 0, buffers = 0;
  double gradients = 0, optimizer = 0; ///< of training
  double total() const {
    return weights + gradients + optimizer + activations + kv + buffers;
  }
};

/// Of the slowest and fullest rank of a stage, for one micro-batch.
struct StagePrediction {
  Seconds prompt, step;
  MemoryPrediction memory; ///< buffers left out
};

/// What a training step is made of, of the slowest rank.
struct TrainingPrediction {
  int64_t microBatches = 1;                         ///< of a replica
  double forward = 0, backward = 0, recomputed = 0; ///< of all micro-batches
  double gradients = 0; ///< sums over replicas that nothing hides
  double optimizer = 0;
  /// Of one layer and micro-batch.
  double layerForward = 0, layerBackward = 0, layerRecomputed = 0;
};

struct Prediction {
  MemoryPrediction memory;
  std::vector<StagePrediction> stages;
  double limit = 0; ///< bytes of the smallest device; 0 where that is not known
  RunPrediction prompt;
  std::optional<RunPrediction> step;
  std::optional<TrainingPrediction> training; ///< the prompt is then a step
  double tokensPerSecond = 0; ///< of all ranks: steps, or rows of prompts

  /// And what drivers take, of the devices.
  void setLimits(const Machine &machine);
  bool fits() const { return limit == 0 || memory.total() <= limit; }
  /// What a user waits for again and again.
  const RunPrediction &main() const { return step ? *step : prompt; }
};

class Predictor {
public:
  /// Both outlive the object.
  Predictor(const Workload &workload, const Machine &machine)
      : workload(workload), machine(machine) {}

  /// Why the model cannot be cut like this, or "".
  std::string whyNot(const Degrees &degrees) const;
  Prediction predict(const Degrees &degrees);
  /// What a compile chooses for the sizes of its requests.
  struct SizedChoice {
    /// Of weights; none where those that are chosen without sizes are as good.
    ChosenSplits splits;
    /// First pieces of the stages, of programs with so many; 0 without a
    /// pipeline.
    std::vector<size_t> cuts;
    size_t numPieces = 0;
  };
  SizedChoice chooseForSizes(const Degrees &degrees);
  /// From now on these degrees have that.
  void use(const Degrees &degrees, SizedChoice choice);
  void forget(const Degrees &degrees) { choices.erase(degrees.flags()); }
  /// Its bytes alone, times left out: many times as fast.
  Prediction predictMemory(const Degrees &degrees);

  /// Of a prompt, by op of its graph.
  struct Detail {
    const Plan &plan;
    const std::vector<Seconds> &seconds;
  };
  Detail detail(const Degrees &degrees);

private:
  /// By op of the graph.
  struct OpCosts {
    Plan plan;
    std::vector<OpMemory> memory;
    double limit = 0; ///< of the device that this memory is of; 0: of any
    /// By which ranks are neighbours, and on which devices; those that somebody
    /// asked for.
    std::map<std::string, std::vector<Seconds>> seconds;
  };
  struct Stage {
    std::vector<std::pair<unsigned, double>>
        ops;           ///< and how often each is there
    unsigned last = 0; ///< op that is there last
  };

  /// Of the batch, what one replica has, or one of its micro-batches.
  int64_t rowsOf(const Degrees &degrees, int64_t microBatches) const;
  /// In how many parts a request goes through the stages, and the rows of one.
  int64_t roundsOf(const Request &request, const Degrees &degrees) const;
  int64_t rowsOf(const Request &request, const Degrees &degrees) const;
  /// That a compile chooses splits and cuts for: it knows of no parts of a step.
  int64_t rowsToChooseFor(const Degrees &degrees) const;
  const Program &programOf(const Request &request,
                           const Degrees &degrees) const;
  /// Of the ranks that have least room for it.
  void findMemory(const Program &program, const Sizes &sizes,
                  llvm::ArrayRef<RunCost::RankClass> classes,
                  const dist::Mesh &mesh, OpCosts &ops) const;
  /// Without seconds.
  OpCosts &costsOf(const Request &request, bool isStep, const Degrees &degrees,
                   int64_t batch);
  /// Seconds by op, on a kind of devices.
  const std::vector<Seconds> &timesOf(const Request &request, bool isStep,
                                      const Degrees &degrees, int64_t batch,
                                      size_t kind = 0);
  const StageDevices &devicesOf(const Degrees &degrees);
  const std::vector<Stage> &stagesOf(const Program &program,
                                     const Degrees &degrees);
  std::vector<size_t> cutsOf(const Program &program,
                             const Degrees &degrees) const;
  ChosenSplits chooseSplits(const Degrees &degrees) const;
  struct Used {
    SizedChoice choice;
    unsigned number; ///< what is found with it has that in its key
  };
  /// Null where nothing is chosen.
  const Used *chosenFor(const Degrees &degrees) const;
  /// With the seconds of what is asked for again and again.
  std::vector<Piece> timedPieces(const Degrees &degrees);
  RunPrediction run(const Request &request, bool isStep, const Degrees &degrees,
                    std::vector<StagePrediction> &byStage);
  /// To what other requests take of each stage.
  void addMemory(const Request &request, bool isStep, const Degrees &degrees,
                 std::vector<StagePrediction> &byStage);

  const Workload &workload;
  const Machine &machine;
  std::map<std::string, OpCosts> costs;
  std::map<std::string, Used> choices; ///< by flags of degrees
  unsigned numUsed = 0;
  std::map<std::string, std::vector<Stage>> stages;
  std::map<std::string, StageDevices> devices; ///< by flags of degrees
};

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_DEGREES_PREDICTOR_H
