//===- TrainingStep.cpp - Seconds and bytes of a training step ------------===//

#include "passes/plan/degrees/TrainingStep.h"

#include "passes/plan/degrees/RankOrder.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardc::plan {

/// Bytes of a parameter: its master copy and two moments in f32; of a model in
/// f32 the moments alone.
static double stateBytesOf(int64_t bits) { return bits >= 32 ? 8 : 12; }
/// Of gradients in f32: written without the loss's scale, read for their norm, and
/// for the update.
static constexpr double kGradientPasses = 3;

double microBatchesKept(int64_t stage, int64_t stages, int64_t chunks,
                        int64_t microBatches) {
  // Chunks that run forward before the first one runs back.
  const int64_t behind = stages - stage - 1;
  const int64_t warmUp =
      chunks == 1 ? behind : 2 * behind + (chunks - 1) * stages;
  return std::min(double(warmUp + 1) / double(chunks), double(microBatches));
}

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

std::string whyNotTrained(const Workload &workload, const Degrees &degrees) {
  auto text = [](int64_t number) { return std::to_string(number); };
  const TrainingOptions &options = *workload.training;
  if (workload.batchSymbol.empty() && degrees.dp > 1)
    return "its batch is of a fixed size";
  if (degrees.dp * options.microBatch > workload.batch)
    return "a batch of " + text(workload.batch) + " has no " +
           text(degrees.dp) + " times " + text(options.microBatch) + " rows";
  const int64_t chunks = degrees.pp * options.interleave;
  if (degrees.pp > 1 && chunks > workload.prompt.program->numLayers)
    return "its " + text(workload.prompt.program->numLayers) +
           " equal layers make no " + text(chunks) + " chunks";
  return "";
}

namespace {

/// Of 16 bits: a gradient, and two moments and a copy in f32 for each.
constexpr double kBytesBesideWeights = 8;

class TrainingStep {
public:
  TrainingStep(const Workload &workload, const Machine &machine,
               const Degrees &degrees)
      : workload(workload), options(*workload.training),
        program(*workload.prompt.program), machine(machine), degrees(degrees),
        mesh(degrees.mesh()), stages(degrees.pp) {}

  Prediction run() {
    priceOps();
    placeOps();
    for (int64_t stage = 0; stage < degrees.pp; ++stage)
      addTransfers(stage);
    Prediction prediction;
    prediction.training.emplace();
    prediction.training->microBatches = microBatches();
    const size_t slowest = schedule(prediction);
    addUpdates(prediction, stages[slowest]);
    addLayer(*prediction.training);
    addMemory(prediction);
    prediction.tokensPerSecond = double(workload.batch) *
                                 double(workload.promptLength) /
                                 std::max(prediction.prompt.total, 1e-30);
    return prediction;
  }

private:
  /// Of one micro-batch, where nothing else is said.
  struct Stage {
    Seconds forward, backward, again;
    double kept = 0;        ///< of all its layers
    double keptInLayer = 0; ///< of the largest one, before anything is dropped
    double weightBytes = 0, gradientBytes = 0;
    double stateBytes = 0; ///< of the optimizer
    double updated = 0;    ///< bytes that the optimizer reads and writes
    double layers = 0;
    Seconds once() const {
      Seconds sum = forward;
      sum += backward;
      sum += again;
      return sum;
    }
  };

  int64_t microBatches() const {
    return ceilDiv(workload.batch, degrees.dp * options.microBatch);
  }
  double replicas() const { return double(degrees.dp * degrees.cp); }

  void priceOps() {
    ownMesh = neighbourMesh(degrees, machine);
    const Graph &graph = *program.graph;
    Plan plan =
        planByRoles(graph, dist::stageMesh(mesh), false, degrees.expertMode,
                    {degrees.sequenceParallel, degrees.contextMode});
    Sizes sizes = workload.prompt.sizes;
    if (!workload.batchSymbol.empty())
      sizes.set(workload.batchSymbol, options.microBatch);
    const RunCost ranks(graph, *program.kernels, machine, ownMesh,
                        degrees.numRanks() / ownMesh.numRanks());
    if (ranks.rankClasses().empty()) {
      addRank(plan, sizes, machine);
      return;
    }
    // Where parts are unequal: of each op the slowest rank, of memory that which
    // has least room.
    for (const RunCost::RankClass &each : ranks.rankClasses()) {
      Sizes own = sizes;
      own.onRank(ownMesh, each.rank);
      Machine alone = machine;
      alone.devices.assign({*each.device});
      addRank(plan, own, alone);
    }
  }

  /// Ranks of these devices, with such parts.
  void addRank(const Plan &plan, const Sizes &sizes, const Machine &devices) {
    std::vector<OpTraining> own =
        TrainingCost(*program.graph, *program.kernels, devices, ownMesh,
                     options, microBatches())
            .costs(plan, sizes);
    std::vector<OpMemory> held =
        memoryOf(*program.graph, *program.kernels, plan, sizes);
    double filled = 0, bytes = 0;
    for (const Device &device : devices.devices)
      bytes =
          bytes > 0 ? std::min(bytes, device.memoryBytes) : device.memoryBytes;
    for (auto [cost, op] :
         llvm::zip(own, held)) // weights with what goes with them
      filled += (cost.kept + kBytesBesideWeights * op.weights) / bytes;
    const bool isFullest = costs.empty() || filled > mostFilled;
    costs.resize(own.size());
    for (auto [op, cost] : llvm::zip(costs, own)) {
      if (cost.forward.total() > op.forward.total())
        op.forward = cost.forward, op.scores = cost.scores;
      if (cost.backward.total() > op.backward.total())
        op.backward = cost.backward;
      if (isFullest)
        op.kept = cost.kept, op.keptScores = cost.keptScores;
    }
    if (!isFullest)
      return;
    mostFilled = filled;
    limit = bytes;
    memory = std::move(held);
  }

  bool drops() const { return options.recompute != Recompute::None; }
  bool dropsAll() const { return options.recompute == Recompute::Full; }

  void add(const PlacedOp &placed, int64_t layer, Stage &stage) const {
    const OpTraining &cost = costs[placed.op];
    stage.forward += cost.forward;
    stage.backward += cost.backward;
    const bool isInLayer = layer != kBefore && layer != kBehind;
    if (dropsAll() && isInLayer)
      stage.again += cost.forward;
    else if (drops())
      stage.again += cost.scores;
    if (!dropsAll() || !isInLayer)
      stage.kept += cost.kept - (drops() ? cost.keptScores : 0);
    const GraphOp &op = program.graph->ops[placed.op];
    if (op.kind != OpKind::Weight)
      return;
    const int64_t bits = program.graph->values[op.resultValues[0]].bits;
    if (bits >= 64) // positions and the like
      return;
    const double count = memory[placed.op].weights * 8 / double(bits);
    const double gradient =
        count * double(std::max(bits, options.gradientBits)) / 8;
    const double state = count * stateBytesOf(bits);
    stage.weightBytes += memory[placed.op].weights;
    stage.gradientBytes += gradient;
    stage.stateBytes += state;
    stage.updated += gradient + kGradientPasses * 4 * count + 2 * state +
                     memory[placed.op].weights;
  }

  int64_t chunkOf(int64_t layer) const {
    const int64_t chunks = degrees.pp * options.interleave;
    if (degrees.pp == 1 || layer == kBefore)
      return 0;
    return layer == kBehind
               ? chunks - 1
               : layer * chunks / std::max<int64_t>(1, program.numLayers);
  }

  void placeOps() {
    std::vector<double> keptInLayer(program.numLayers, 0);
    for (const PlacedOp &placed : program.ops) {
      llvm::SmallVector<int64_t, 2> in;
      for (int64_t layer : placed.layers) {
        if (layer >= 0 && layer < program.numLayers)
          keptInLayer[layer] += costs[placed.op].kept;
        const int64_t stage = chunkOf(layer) % degrees.pp;
        if (llvm::is_contained(in, stage))
          continue;
        in.push_back(stage);
        add(placed, layer, stages[stage]);
      }
    }
    hiddenBytes = std::numeric_limits<double>::infinity();
    for (const PlacedOp &placed : program.ops)
      if (!placed.layers.empty() && placed.layers.front() >= 0 &&
          placed.layers.front() != kBehind && memory[placed.op].crossing > 0)
        hiddenBytes = std::min(hiddenBytes, memory[placed.op].crossing);
    if (!std::isfinite(hiddenBytes))
      hiddenBytes = 0;
    for (int64_t layer = 0; layer < program.numLayers; ++layer) {
      Stage &stage = stages[chunkOf(layer) % degrees.pp];
      stage.layers += 1;
      stage.keptInLayer = std::max(stage.keptInLayer, keptInLayer[layer]);
    }
  }

  /// The hidden state to the next stage: what the rank has of it, or of ranks
  /// that all have it a part from each, which they then gather.
  double transferSeconds(int64_t from, int64_t to) const {
    const Route route = routeOfTransfer(machine, mesh, from, to);
    const double whole = sendSeconds(machine, route, hiddenBytes);
    if (degrees.tp == 1 || degrees.sequenceParallel)
      return whole;
    const dist::AxisRef axis{"tp", 1, degrees.tp};
    return std::min(
        whole,
        sendSeconds(machine, route, hiddenBytes / double(degrees.tp)) +
            collectiveSeconds(machine, CollectiveKind::AllGather,
                              routeOf(machine, ownMesh, {axis}), hiddenBytes));
  }

  /// What a stage gets before each pass, and sends behind it at the same time.
  void addTransfers(int64_t stage) {
    if (degrees.pp == 1)
      return;
    const double next = stage + 1 < degrees.pp
                            ? transferSeconds(stage, stage + 1)
                            : 0,
                 before = stage > 0 ? transferSeconds(stage - 1, stage) : 0;
    // Chunks go around: the last stage sends to the first.
    const double around =
        options.interleave > 1 ? transferSeconds(0, degrees.pp - 1) : 0;
    const double seconds =
        std::max({next, before, around}) * double(options.interleave);
    stages[stage].forward.communication += seconds;
    stages[stage].backward.communication += seconds;
  }

  /// The slowest stage works without a break but for the others' first and last
  /// micro-batch.
  size_t schedule(Prediction &prediction) const {
    const auto rounds = double(microBatches());
    size_t slowest = 0;
    double all = 0;
    for (auto [i, stage] : llvm::enumerate(stages)) {
      all += stage.once().total();
      if (stage.once().total() > stages[slowest].once().total())
        slowest = i;
      StagePrediction shown;
      shown.prompt = stage.once();
      prediction.stages.push_back(shown);
    }
    const Stage &stage = stages[slowest];
    RunPrediction &run = prediction.prompt;
    run.busy = stage.once() * rounds;
    run.bubble = (all - stage.once().total()) / double(options.interleave);
    run.total = run.busy.total() + run.bubble;
    TrainingPrediction &training = *prediction.training;
    training.forward = stage.forward.total() * rounds;
    training.backward = stage.backward.total() * rounds;
    training.recomputed = stage.again.total() * rounds;
    return slowest;
  }

  llvm::SmallVector<dist::AxisRef, 2> replicaAxes() const {
    llvm::SmallVector<dist::AxisRef, 2> axes;
    for (const dist::Axis &axis : mesh.axes)
      if (axis.size > 1 &&
          (axis.name == dist::kReplicaAxis || axis.name == dist::kContextAxis))
        axes.push_back({axis.name, 1, axis.size});
    return axes;
  }

  /// Sums of gradients over replicas, and the optimizer.
  void addUpdates(Prediction &prediction, const Stage &stage) const {
    const auto rounds = double(microBatches());
    double sums = 0, beside = 0;
    if (replicas() > 1) {
      const Route route = routeOf(machine, mesh, replicaAxes());
      auto seconds = [&](CollectiveKind kind) {
        return collectiveSeconds(machine, kind, route,
                                 kind == CollectiveKind::AllGather
                                     ? stage.weightBytes
                                     : stage.gradientBytes);
      };
      const double scatter = seconds(CollectiveKind::ReduceScatter),
                   gather = seconds(CollectiveKind::AllGather);
      const double pass = stage.once().total();
      beside = stage.backward.total() + stage.again.total();
      switch (options.zeroStage) {
      case 0:
        sums = seconds(CollectiveKind::AllReduce);
        break;
      case 1: // gathered behind the optimizer
        sums = scatter + gather;
        break;
      case 2: // a gradient that is not kept whole is scattered each time
        sums = rounds * scatter + gather;
        beside *= rounds;
        break;
      default:
        sums = rounds * (scatter + 2 * gather);
        beside = rounds * pass;
      }
    }
    if (options.overlapsReplicas)
      sums = hide(sums, beside);
    double rate = std::numeric_limits<double>::infinity();
    for (const Device &device : machine.devices)
      rate = std::min(rate, device.bytesPerSecond);
    const double optimizer =
        stage.updated / rate / (options.zeroStage > 0 ? replicas() : 1);
    TrainingPrediction &training = *prediction.training;
    training.gradients = sums;
    training.optimizer = optimizer;
    prediction.prompt.busy.communication += sums;
    prediction.prompt.busy.read += optimizer;
    prediction.prompt.total += sums + optimizer;
  }

  /// Of communication what is left beside so many seconds of work, which is
  /// slower meanwhile.
  double hide(double seconds, double work) const {
    double speed = 1;
    for (const Device &device : machine.devices)
      speed = std::min(speed, device.speedBeside);
    return seconds - std::min(seconds, work / speed) * speed;
  }

  /// One in the middle, which has no embedding before it.
  void addLayer(TrainingPrediction &training) const {
    Stage layer;
    for (const PlacedOp &placed : program.ops)
      if (llvm::is_contained(placed.layers, program.numLayers / 2))
        add(placed, program.numLayers / 2, layer);
    training.layerForward = layer.forward.total();
    training.layerBackward = layer.backward.total();
    training.layerRecomputed = layer.again.total();
  }

  void addMemory(Prediction &prediction) const {
    const double share = replicas();
    for (auto [i, stage] : llvm::enumerate(stages)) {
      const double inFlight = microBatchesKept(
          int64_t(i), degrees.pp, options.interleave, microBatches());
      MemoryPrediction &here = prediction.stages[i].memory;
      here.weights = stage.weightBytes / (options.zeroStage > 2 ? share : 1);
      here.gradients =
          stage.gradientBytes / (options.zeroStage > 1 ? share : 1);
      here.optimizer = stage.stateBytes / (options.zeroStage > 0 ? share : 1);
      here.activations = stage.kept * inFlight;
      if (dropsAll())
        here.activations +=
            hiddenBytes * stage.layers * inFlight + stage.keptInLayer;
      if (here.total() > prediction.memory.total())
        prediction.memory = here;
    }
    prediction.setLimits(machine);
    prediction.limit = limit;
  }

  const Workload &workload;
  const TrainingOptions &options;
  const Program &program;
  const Machine &machine;
  const Degrees &degrees;
  const dist::Mesh mesh;
  dist::Mesh ownMesh;            ///< of ranks that talk to each other
  std::vector<OpTraining> costs; ///< by op
  std::vector<OpMemory> memory;  ///< by op
  std::vector<Stage> stages;
  double hiddenBytes = 0;           ///< of a rank, between layers
  double mostFilled = 0, limit = 0; ///< of devices, by part and in bytes
};

} // namespace

Prediction trainingStep(const Workload &workload, const Machine &machine,
                        const Degrees &degrees) {
  return TrainingStep(workload, machine, degrees).run();
}

} // namespace shardc::plan
