//===- TrainingCost.h - Seconds and bytes of a training step, op by op ----===//
//
// Arithmetic: shardc compiles inference, and of a forward graph follows what a
// backward pass would compute, read, send and keep.
//
//   product     [m k] . [k n]: [m n] . [n k] for the gradient of its operand and
//               [k m] . [m n] for that of its weight
//   attention   as one kernel: 5 products instead of 2, none of them in memory;
//               or op by op, with its scores written and read
//   rows        run op by op: each reads the gradient of what it made and what it
//               read, and writes gradients of that; a sum passes its own on, and
//               those of a value that several ops use are added up
//   weights     gradients of vectors are sums over rows, another pass; those of
//               further micro-batches are added to what is there
//   collective  a value that each rank uses another part of has a gradient that
//               is a partial sum, and the other way round:
//
//     forward           backward
//     all_reduce        nothing           behind rows of weights
//     nothing           all_reduce        before columns of weights
//     reduce_scatter    all_gather        the same with sequence parallelism
//     all_gather        reduce_scatter, and all_gather again for the weight's
//
// Example, 22B GPT on 8 A100 (hidden 6144, 64 heads, 4 x 2048 tokens), tp 8: a
// layer computes 0.93 TFLOP forward on each rank, 3.8 ms of 7.7 ms; two
// all_reduces of 100 MB take 1.8 ms, scores and norms in memory the rest.
//
// What is kept for the backward pass are operands of products, of attention and
// of rows that are no sums; what is in registers is made anew of what is in
// memory.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_COST_TRAININGCOST_H
#define SHARDC_PASSES_PLAN_COST_TRAININGCOST_H

#include "passes/plan/cost/RunCost.h"

namespace shardc::plan {

enum class Recompute : uint8_t {
  None,
  Selective, ///< scores of attention
  Full       ///< each layer, of its input
};

/// How a model is trained; degrees are elsewhere (Degrees.h).
struct TrainingOptions {
  int64_t microBatch = 1; ///< sequences of a replica at a time
  Recompute recompute = Recompute::None;
  int64_t interleave = 1;    ///< chunks of layers that a stage has
  int64_t zeroStage = 0;     ///< what replicas share out: ZeRO's 1, 2, 3
  int64_t gradientBits = 16; ///< of sums over micro-batches and replicas
  bool writesScores = false; ///< attention op by op
  bool hasDropout = false;   ///< on scores and in front of residual sums
  /// Collectives of gradients beside products with gradients of weights.
  bool overlapsLayers = true;
  /// Sums over replicas beside the last backward pass.
  bool overlapsReplicas = true;
};

struct OpTraining {
  Seconds forward; ///< with the collectives in front of it
  Seconds scores;  ///< of it, what selective recomputation does again
  Seconds backward;
  double kept = 0;       ///< bytes of values that are kept because of this op
  double keptScores = 0; ///< of them, what selective recomputation drops
};

class TrainingCost {
public:
  /// `microBatches` are those whose gradients are added up. All of these outlive
  /// the object.
  TrainingCost(const Graph &graph, const Kernels &kernels,
               const Machine &machine, const dist::Mesh &mesh,
               const TrainingOptions &options, int64_t microBatches)
      : graph(graph), kernels(kernels), machine(machine), options(options),
        microBatches(microBatches), run(graph, kernels, machine, mesh) {}

  /// By op, of one micro-batch.
  std::vector<OpTraining> costs(const Plan &plan, const Sizes &sizes);

  /// Whether weights decide the value, so that it has a gradient.
  bool hasGradient(unsigned value) const { return withGradient[value]; }

private:
  struct OpBackward {
    Seconds operands, weights; ///< gradients of
  };

  /// Gradients pass through it as they are.
  static bool isSum(const GraphOp &op);
  void findGradients();
  bool isActivation(unsigned value) const;
  bool isResidualSum(unsigned op) const;
  bool isLoss(unsigned value) const;
  double bytesAs(const dist::Sharding &sharding, unsigned value) const;

  Seconds scoresForward(unsigned op, const Device &device) const;
  OpBackward scoresBackward(unsigned op, const Device &device) const;
  Seconds forward(unsigned op, const Device &device) const;
  OpBackward backward(unsigned op, const Device &device) const;
  OpBackward productBackward(unsigned op, const Device &device) const;
  Seconds accumulation(unsigned op, const Device &device) const;
  Seconds rowsBackward(unsigned op, const Device &device) const;
  double vectorSums(unsigned op) const;
  Seconds loss(unsigned value, bool isBackward, const Device &device) const;
  Seconds masks(unsigned op, bool isBackward, const Device &device) const;

  void addLoss(std::vector<OpTraining> &costs);
  void addSums(std::vector<OpTraining> &costs);
  void addGradientCollectives(std::vector<OpTraining> &costs);
  void sumGradients(unsigned value, std::vector<OpTraining> &costs);
  dist::Sharding gradientOf(unsigned op, unsigned operand) const;
  double gatheredAgain(unsigned value);
  void addTurns(std::vector<OpTraining> &costs);

  void keep(std::vector<OpTraining> &costs);
  void need(unsigned value, const dist::Sharding &as,
            std::vector<OpTraining> &costs);

  const Graph &graph;
  const Kernels &kernels;
  const Machine &machine;
  const TrainingOptions &options;
  int64_t microBatches;
  RunCost run;
  const Plan *plan = nullptr;
  const Sizes *sizes = nullptr;
  std::vector<bool> withGradient, isKept; ///< by value
  std::vector<double> weightSeconds;      ///< by op: gradients of weights
};

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_COST_TRAININGCOST_H
