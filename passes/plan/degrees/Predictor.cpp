//===- Predictor.cpp - Seconds and bytes of a model under given degrees ---===//

#include "passes/plan/degrees/Predictor.h"

#include "passes/plan/degrees/RankOrder.h"
#include "passes/plan/degrees/TrainingStep.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace shardc::plan {

std::string Predictor::whyNot(const Degrees &degrees) const {
  if (workload.training)
    return whyNotTrained(workload, degrees);
  auto text = [](int64_t number) { return std::to_string(number); };
  const size_t pieces = workload.prompt.program->pieces.size();
  if (degrees.pp > 1 && size_t(degrees.pp) > pieces)
    return "the model can be cut into at most " + text(int64_t(pieces)) +
           " stages";
  // Ranks of "fsdp" have the same rows of a step.
  const int64_t parts =
      degrees.dp * (workload.rows ? 1 : degrees.fsdp * degrees.microBatches);
  if (!workload.batchSymbol.empty() && parts > workload.batch)
    return "a batch of " + text(workload.batch) + " has no " + text(parts) +
           " parts";
  return "";
}

int64_t Predictor::rowsOf(const Degrees &degrees, int64_t microBatches) const {
  const int64_t parts = degrees.dp * microBatches;
  return (workload.batch + parts - 1) / parts;
}

int64_t Predictor::roundsOf(const Request &request,
                            const Degrees &degrees) const {
  return workload.rows
             ? RowSizes::partsOf(rowsOf(degrees, 1), request.length, degrees.pp)
             : degrees.microBatches;
}

int64_t Predictor::rowsToChooseFor(const Degrees &degrees) const {
  return rowsOf(degrees, workload.rows ? 1 : degrees.microBatches);
}

int64_t Predictor::rowsOf(const Request &request,
                          const Degrees &degrees) const {
  return rowsOf(degrees, roundsOf(request, degrees));
}

const Program &Predictor::programOf(const Request &request,
                                    const Degrees &degrees) const {
  return workload.programFor ? workload.programFor(degrees) : *request.program;
}

/// All that splits of ops and their bytes depend on.
static std::string keyOf(const Program *program, const Degrees &degrees,
                         bool isDecode, bool isStep, int64_t batch) {
  Degrees own = degrees;
  own.dp = own.pp = own.microBatches = 1;
  own.order.clear();
  if (isDecode) // not split over the sequence
    own.sequenceParallel = false;
  return std::to_string(reinterpret_cast<uintptr_t>(program)) + " " +
         own.flags() + " " + std::to_string(batch) + (isStep ? " step" : "") +
         // On which devices ranks of a share are.
         (degrees.shares.empty() ? "" : degrees.flags());
}

static std::string textOf(const dist::Mesh &mesh) {
  std::string text;
  for (const dist::Axis &axis : mesh.axes)
    text += axis.name + " " + std::to_string(axis.size) + " ";
  return text;
}

/// Of a part of the batch.
static Sizes sizesOf(const Request &request, const Workload &workload,
                     int64_t batch) {
  Sizes sizes = request.sizes;
  if (workload.rows)
    for (const auto &entry : workload.rows->of(batch, request.length,
                                               request.past, request.encoder))
      sizes.set(entry.getKey(), entry.getValue());
  else if (!workload.batchSymbol.empty())
    sizes.set(workload.batchSymbol, batch);
  return sizes;
}

Predictor::OpCosts &Predictor::costsOf(const Request &request, bool isStep,
                                       const Degrees &degrees, int64_t batch) {
  const Program &program = programOf(request, degrees);
  // A step of rows is for any lengths.
  const bool isDecode = isStep && !workload.rows;
  std::string key = keyOf(&program, degrees, isDecode, isStep, batch);
  const Used *own = chosenFor(degrees);
  if (own)
    key += " choice " + std::to_string(own->number);
  auto [known, isNew] = costs.try_emplace(std::move(key));
  OpCosts &found = known->second;
  if (isNew) {
    Plan start(*program.graph);
    if (own)
      own->choice.splits.apply(*program.graph, program.names, start,
                               [](llvm::StringRef weight) { return weight; });
    found.plan =
        planByRoles(*program.graph, dist::stageMesh(degrees.mesh()), isDecode,
                    degrees.expertMode,
                    {degrees.sequenceParallel, degrees.contextMode}, &start);
    const dist::Mesh mesh = neighbourMesh(degrees, machine);
    const RunCost cost(*program.graph, *program.kernels, machine, mesh,
                       degrees.numRanks() / mesh.numRanks());
    findMemory(program, sizesOf(request, workload, batch), cost.rankClasses(),
               mesh, found);
  }
  return found;
}

ChosenSplits Predictor::chooseSplits(const Degrees &degrees) const {
  const int64_t rows = rowsToChooseFor(degrees);
  std::vector<SizedProgram> programs;
  auto add = [&](const Request &request, bool isDecode) {
    const Program &program = programOf(request, degrees);
    programs.push_back({*program.graph, *program.kernels, program.names,
                        isDecode, sizesOf(request, workload, rows)});
  };
  if (workload.rows)
    add(workload.main(), false); // one program, for requests of one kind
  else if (workload.hasSteps)
    add(*workload.step, true);
  if (!workload.rows)
    add(workload.prompt, false);
  const dist::Mesh mesh = degrees.mesh(), stage = dist::stageMesh(mesh);
  return plan::chooseSplits(programs,
                            {machine,
                             mesh,
                             stage,
                             degrees.expertMode,
                             {degrees.sequenceParallel, degrees.contextMode}});
}

const std::vector<Seconds> &Predictor::timesOf(const Request &request,
                                               bool isStep,
                                               const Degrees &degrees,
                                               int64_t batch, size_t kind) {
  OpCosts &costs = costsOf(request, isStep, degrees, batch);
  const dist::Mesh mesh = neighbourMesh(degrees, machine);
  const Machine &own = devicesOf(degrees).kinds[kind];
  std::string key = textOf(mesh);
  for (const Device &device : own.devices)
    key += device.name + " ";
  auto [known, isNew] = costs.seconds.try_emplace(std::move(key));
  if (isNew) {
    const Program &program = programOf(request, degrees);
    known->second = RunCost(*program.graph, *program.kernels, own, mesh,
                            degrees.numRanks() / mesh.numRanks())
                        .run(costs.plan, sizesOf(request, workload, batch));
  }
  return known->second;
}

void Predictor::findMemory(const Program &program, const Sizes &sizes,
                           llvm::ArrayRef<RunCost::RankClass> classes,
                           const dist::Mesh &mesh, OpCosts &ops) const {
  if (classes.empty()) {
    ops.memory = memoryOf(*program.graph, *program.kernels, ops.plan, sizes);
    return;
  }
  double fullest = -1;
  for (const RunCost::RankClass &each : classes) {
    Sizes own = sizes;
    own.onRank(mesh, each.rank);
    std::vector<OpMemory> memory =
        memoryOf(*program.graph, *program.kernels, ops.plan, own);
    double kept = 0;
    for (const OpMemory &op : memory)
      kept += op.weights + op.kv;
    const double filled = kept / each.device->memoryBytes;
    if (filled <= fullest)
      continue;
    fullest = filled;
    ops.memory = std::move(memory);
    ops.limit = each.device->memoryBytes;
  }
}

const StageDevices &Predictor::devicesOf(const Degrees &degrees) {
  // What is the same for all is there once.
  const bool areEqual = degrees.pp == 1 || machine.devices.size() < 2;
  auto [known, isNew] = devices.try_emplace(
      areEqual ? std::to_string(degrees.pp) : degrees.flags());
  if (isNew)
    known->second = stageDevices(machine, degrees.mesh());
  return known->second;
}

std::vector<Piece> Predictor::timedPieces(const Degrees &degrees) {
  const Request &request = workload.main();
  const Program &program = programOf(request, degrees);
  const size_t kinds = devicesOf(degrees).kinds.size();
  std::vector<Piece> pieces = program.pieces;
  for (size_t kind = 0; kind < kinds; ++kind) {
    for (Piece &piece : pieces)
      piece.seconds.push_back(0);
    const std::vector<Seconds> &times = timesOf(
        request, workload.hasSteps, degrees, rowsToChooseFor(degrees), kind);
    for (const PlacedOp &placed : program.ops)
      if (!placed.pieces.empty())
        pieces[placed.pieces.front()].seconds.back() +=
            times[placed.op].total();
  }
  return pieces;
}

std::vector<size_t> Predictor::cutsOf(const Program &program,
                                      const Degrees &degrees) const {
  if (degrees.pp == 1)
    return {0};
  // Programs that are cut alike have the same matrices in each piece.
  const Used *own = chosenFor(degrees);
  return own && own->choice.numPieces == program.pieces.size()
             ? own->choice.cuts
             : searchCuts(program.pieces, degrees.pp);
}

Predictor::SizedChoice Predictor::chooseForSizes(const Degrees &degrees) {
  SizedChoice choice;
  choice.splits = chooseSplits(degrees);
  if (degrees.pp == 1)
    return choice;
  use(degrees, choice); // cuts are by what ops take with these splits
  const std::vector<Piece> pieces = timedPieces(degrees);
  choice.cuts = searchCuts(pieces, devicesOf(degrees));
  choice.numPieces = pieces.size();
  forget(degrees);
  return choice;
}

void Predictor::use(const Degrees &degrees, SizedChoice choice) {
  choices.insert_or_assign(degrees.flags(), Used{std::move(choice), ++numUsed});
}

const Predictor::Used *Predictor::chosenFor(const Degrees &degrees) const {
  const auto found = choices.find(degrees.flags());
  return found == choices.end() ? nullptr : &found->second;
}

const std::vector<Predictor::Stage> &
Predictor::stagesOf(const Program &program, const Degrees &degrees) {
  const int64_t count = degrees.pp;
  std::string key = std::to_string(reinterpret_cast<uintptr_t>(&program)) +
                    " " + std::to_string(count);
  if (const Used *own = chosenFor(degrees))
    key += " choice " + std::to_string(own->number);
  auto [known, isNew] = stages.try_emplace(std::move(key));
  if (!isNew)
    return known->second;
  const std::vector<size_t> cuts = cutsOf(program, degrees);
  std::vector<std::map<unsigned, double>> counts(count);
  known->second.resize(count);
  for (const PlacedOp &placed : program.ops) {
    llvm::SmallVector<int64_t, 2> in;
    for (unsigned piece : placed.pieces)
      in.push_back(std::upper_bound(cuts.begin(), cuts.end(), piece) -
                   cuts.begin() - 1);
    if (in.empty()) {
      in.resize(count);
      std::iota(in.begin(), in.end(), 0);
    }
    in.erase(llvm::unique(in), in.end());
    for (int64_t stage : in) {
      ++counts[stage][placed.op];
      if (!placed.pieces.empty())
        known->second[stage].last = placed.op;
    }
  }
  for (int64_t stage = 0; stage < count; ++stage)
    known->second[stage].ops.assign(counts[stage].begin(), counts[stage].end());
  return known->second;
}

RunPrediction Predictor::run(const Request &request, bool isStep,
                             const Degrees &degrees,
                             std::vector<StagePrediction> &byStage) {
  const int64_t rows = rowsOf(request, degrees);
  const OpCosts &ops = costsOf(request, isStep, degrees, rows);
  const dist::Mesh mesh = degrees.mesh();
  const auto &placed = stagesOf(programOf(request, degrees), degrees);
  Seconds slowest;
  RunPrediction prediction;
  double transfers = 0;
  for (int64_t stage = 0; stage < degrees.pp; ++stage) {
    const std::vector<Seconds> &times = timesOf(
        request, isStep, degrees, rows, devicesOf(degrees).kindOf[stage]);
    Seconds seconds;
    for (auto [op, count] : placed[stage].ops)
      seconds += times[op] * count;
    (isStep ? byStage[stage].step : byStage[stage].prompt) = seconds;
    prediction.total += seconds.total();
    if (seconds.total() > slowest.total())
      slowest = seconds;
    if (stage + 1 < degrees.pp)
      transfers +=
          sendSeconds(machine, routeOfTransfer(machine, mesh, stage, stage + 1),
                      ops.memory[placed[stage].last].crossing);
  }
  const auto rounds = double(roundsOf(request, degrees));
  prediction.total += (rounds - 1) * slowest.total() + transfers;
  prediction.busy = slowest * rounds;
  prediction.busy.communication += transfers;
  prediction.bubble = std::max(0.0, prediction.total - prediction.busy.total());
  return prediction;
}

void Predictor::addMemory(const Request &request, bool isStep,
                          const Degrees &degrees,
                          std::vector<StagePrediction> &byStage) {
  const OpCosts &part =
                    costsOf(request, isStep, degrees, rowsOf(request, degrees)),
                &whole = costsOf(request, isStep, degrees, rowsOf(degrees, 1));
  for (auto [index, stage] :
       llvm::enumerate(stagesOf(programOf(request, degrees), degrees))) {
    MemoryPrediction here;
    for (auto [op, count] : stage.ops) {
      here.weights += whole.memory[op].weights * count;
      here.kv += whole.memory[op].kv * count;
      here.activations = std::max(here.activations, part.memory[op].live);
    }
    // The same weights; a prompt has more rows, a step longer caches.
    MemoryPrediction &most = byStage[index].memory;
    most.weights = std::max(most.weights, here.weights);
    most.kv = std::max(most.kv, here.kv);
    most.activations = std::max(most.activations, here.activations);
  }
}

/// Positions in and out of all replicas for each second.
static double tokensOf(const Workload &workload, const Degrees &degrees,
                       const Prediction &prediction) {
  const double batch = double(workload.batch) *
                       (workload.batchSymbol.empty() ? double(degrees.dp) : 1);
  const double tokens =
      prediction.step ? batch : batch * double(workload.promptLength);
  return prediction.main().total > 0 ? tokens / prediction.main().total : 0;
}

void Prediction::setLimits(const Machine &machine) {
  for (const Device &device : machine.devices) {
    limit =
        limit > 0 ? std::min(limit, device.memoryBytes) : device.memoryBytes;
    memory.buffers = std::max(memory.buffers, device.reservedBytes);
  }
}

Predictor::Detail Predictor::detail(const Degrees &degrees) {
  const int64_t rows = rowsOf(workload.prompt, degrees);
  return {costsOf(workload.prompt, false, degrees, rows).plan,
          timesOf(workload.prompt, false, degrees, rows)};
}

Prediction Predictor::predictMemory(const Degrees &degrees) {
  if (workload.training)
    return trainingStep(workload, machine, degrees);
  Prediction prediction;
  prediction.stages.resize(degrees.pp);
  addMemory(workload.prompt, false, degrees, prediction.stages);
  if (workload.step)
    addMemory(*workload.step, true, degrees, prediction.stages);
  const StageDevices &devices = devicesOf(degrees);
  double mostFilled = -1, limit = 0;
  for (auto [stage, bytes] : llvm::zip(prediction.stages, devices.memoryBytes))
    if (stage.memory.total() / bytes > mostFilled) {
      mostFilled = stage.memory.total() / bytes;
      prediction.memory = stage.memory;
      limit = bytes;
    }
  prediction.setLimits(machine);
  if (devices.kinds.size() > 1)
    prediction.limit = limit;
  if (!degrees.shares.empty())
    if (const double limit =
            costsOf(workload.prompt, false, degrees, rowsOf(degrees, 1)).limit)
      prediction.limit = limit;
  return prediction;
}

Prediction Predictor::predict(const Degrees &degrees) {
  Prediction prediction = predictMemory(degrees);
  if (workload.training)
    return prediction;
  prediction.prompt = run(workload.prompt, false, degrees, prediction.stages);
  if (workload.step)
    prediction.step = run(*workload.step, true, degrees, prediction.stages);
  prediction.tokensPerSecond = tokensOf(workload, degrees, prediction);
  return prediction;
}

} // namespace shardc::plan
