//===- PropagateShardings.cpp - Decides how values are split --------------===//

#include "passes/shard/Passes.h"

#include "dialects/dist/Dist.h"
#include "dialects/dist/OpSeconds.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/Profiles.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/plan/Annotations.h"
#include "passes/plan/AxisRoles.h"
#include "passes/plan/Pins.h"
#include "passes/plan/cost/RunCost.h"
#include "passes/plan/machine/ReadMachine.h"
#include "passes/plan/machine/StageDevices.h"
#include "passes/shard/BatchFactor.h"
#include "passes/shard/GivenPlan.h"
#include "passes/shard/IdleRanks.h"
#include "passes/shard/PriceAlternatives.h"
#include "passes/shard/SizedPrograms.h"
#include "passes/shard/TensorNames.h"
#include "passes/shard/WriteShardings.h"

#include "llvm/ADT/DenseSet.h"

#include <nlohmann/json.hpp>

using namespace mlir;
using Json = nlohmann::json;

namespace shardc::shard {
#define GEN_PASS_DEF_PROPAGATESHARDINGS
#include "passes/shard/Passes.h.inc"

using plan::ExpertMode;
using plan::Plan;

namespace {

/// What the data decide is decided by every rank, of whole values.
void warnAboutBodies(func::FuncOp function) {
  for (Operation &op : function.front())
    if (op.getNumRegions() > 0)
      op.emitWarning() << op.getName().stripDialect()
                       << " runs whole on every rank: its condition depends on "
                          "data";
}

/// Which inputs have a batch that may be cut; why micro-batches find none.
void noteBatch(func::FuncOp function, const FunctionGraph &graph, bool isCut) {
  onnx::FunctionInfo info(function);
  if (info.page() != 0)
    return; // its rows are of sequences
  BatchFactor batch = findBatch(function, graph);
  if (batch.why.empty()) {
    info.setBatchInputs(batch.inputs);
    return;
  }
  if (!isCut || onnx::isDecode(function))
    return; // the prompt's is like this one
  Operation *at = batch.obstacle ? batch.obstacle : function;
  at->emitWarning("--micro-batches: each request runs as one: ") << batch.why;
}

struct PropagateShardingsPass
    : impl::PropagateShardingsBase<PropagateShardingsPass> {
  using PropagateShardingsBase::PropagateShardingsBase;

  void runOnOperation() override {
    dist::MeshOp mesh = dist::getMesh(getOperation());
    if (!mesh) {
      getOperation().emitError("there is no dist.mesh to shard for");
      return signalPassFailure();
    }
    std::optional<plan::ContextMode> context =
        plan::symbolizeContextMode(contextMode);
    if (!context) {
      getOperation().emitError("context-mode is \"")
          << contextMode << "\", expected ring, ulysses or gather";
      return signalPassFailure();
    }
    const dist::Mesh stage = dist::stageMesh(*mesh.getMesh().getMesh());
    const plan::AxisOptions options{sequenceParallel, *context};
    std::vector<Program> programs;
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>()) {
      // Of a step there is nothing to say that is not said of the prompt.
      if (mesh.getMesh().getMesh()->numRanks() > 1 && !onnx::isDecode(function))
        warnAboutBodies(function);
      programs.push_back(
          {function, std::make_unique<FunctionGraph>(function, [](StringRef) {
             return dist::kNominalSize;
           })});
    }
    if (!readPins() || !readPlanText() || !allProgramsAreKnown(programs) ||
        !readAnnotations())
      return signalPassFailure();
    std::optional<ExpertMode> experts = expertModeFor(programs, stage, options);
    if (!experts)
      return signalPassFailure();
    getOperation()->setAttr(
        kMatrixAxesAttr,
        dist::AxesAttr::get(&getContext(), plan::matrixAxes(stage, *experts)));
    if (!readTypical())
      return signalPassFailure();
    chooseForSizes(stage, *experts, options);
    for (Program &program : programs)
      if (!shard(program, stage, *experts, options))
        return signalPassFailure();
    if (!allPinsAreUsed(programs))
      return signalPassFailure();
    if (keepPlan)
      getOperation()->setAttr(
          kPlanAttr, StringAttr::get(&getContext(), keptPlan(*experts)));
    if (!alternativesOf.empty())
      getOperation()->setAttr(kAlternativesAttr,
                              StringAttr::get(&getContext(), textOf(priced)));
    if (predicts)
      getOperation()->setAttr(
          kPredictedAttr, StringAttr::get(&getContext(), textOf(predicted)));
  }

private:
  struct Program {
    func::FuncOp function;
    std::unique_ptr<FunctionGraph> source;
    plan::OpNames names = {};

    std::string name() const {
      return func::FuncOp(function).getSymName().str();
    }
  };

  bool fail(const Twine &what) {
    getOperation().emitError(what);
    return false;
  }

  bool readPins() {
    for (StringRef text : pins)
      if (std::string problem = plan::parsePin(text, givenPins.emplace_back());
          !problem.empty())
        return fail("--pin " + problem);
    return true;
  }

  bool readPlanText() {
    if (plan.empty())
      return true;
    given = Json::parse(plan.getValue(), nullptr, /*allow_exceptions=*/false);
    return (given.is_object() && given.contains("programs") &&
            given["programs"].is_object()) ||
           fail(planName + ": is no plan that --save-plan wrote");
  }

  /// What a plan has is of the model.
  bool allProgramsAreKnown(ArrayRef<Program> programs) {
    if (given.is_null())
      return true;
    for (const auto &[name, ops] : given["programs"].items())
      if (llvm::none_of(programs, [&](const Program &program) {
            return program.name() == name;
          }))
        return fail(planName + ": has @" + name +
                    ", which the model has not: it is of another model, or of "
                    "other flags");
    return true;
  }

  bool readAnnotations() {
    if (annotations.empty())
      return true;
    annotated = Json::parse(annotations.getValue(), nullptr,
                            /*allow_exceptions=*/false);
    if (!annotated.is_object() || !annotated.contains("nodes") ||
        !annotated["nodes"].is_array())
      return fail("annotations are no JSON of nodes");
    const Json named = annotated.value("outputs", Json::object());
    for (const auto &[node, names] : named.items())
      outputs[node] = names.get<std::vector<std::string>>();
    return true;
  }

  /// Puts what the model's file says of its nodes into the start of a plan.
  bool annotate(const Program &program, const dist::Mesh &stage, Plan &start) {
    if (annotated.is_null())
      return true;
    const TensorNames named(program.function, outputs);
    plan::OpTensors tensors;
    for (Operation *op : program.source->ops) {
      auto &operands = tensors.operands.emplace_back();
      auto &results = tensors.results.emplace_back();
      for (Value operand : op->getOperands())
        operands.push_back(named.nameOf(operand).str());
      for (Value result : op->getResults())
        results.push_back(named.nameOf(result).str());
    }
    const std::string problem = plan::applyAnnotations(
        annotated["nodes"], program.source->graph, program.names, tensors,
        stage, onnx::isDecode(program.function), start);
    return problem.empty() || fail(problem);
  }

  /// A pin that no program has is a mistake.
  bool allPinsAreUsed(ArrayRef<Program> programs) {
    for (const plan::Pin &pin : givenPins)
      if (!usedPins.contains(&pin))
        return fail("--pin " + pin.text +
                    ": the model has no node or weight \"" + pin.node +
                    "\"; the nearest one is " +
                    plan::nearestNode(programs.front().names, pin.node));
    return true;
  }

  std::string keptPlan(ExpertMode experts) const {
    return textOf(
        {{"ep_mode", experts == ExpertMode::Batch ? "batch" : "tensor"},
         {"programs", kept}});
  }

  static std::string textOf(const Json &json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  /// That of a file, or one that is searched from the pins on.
  std::optional<Plan> planOf(Program &program, const dist::Mesh &stage,
                             ExpertMode experts,
                             const plan::AxisOptions &options) {
    const plan::Graph &graph = program.source->graph;
    program.names = program.source->names();
    Plan start(graph);
    if (!given.is_null()) {
      const std::string name = program.name();
      std::string problem =
          given["programs"].contains(name)
              ? plan::readPlan(given["programs"][name], graph, program.names,
                               stage, start)
              : "has nothing of @" + name +
                    ": it is of another model, or of other flags";
      if (problem.empty())
        problem = findMistake(*program.source, start, program.names, stage);
      if (problem.empty())
        return start;
      fail(planName + ": " + problem);
      return std::nullopt;
    }
    std::vector<const plan::Pin *> unused;
    if (std::string problem = plan::applyPins(givenPins, graph, program.names,
                                              stage, start, unused);
        !problem.empty()) {
      fail("--pin " + problem);
      return std::nullopt;
    }
    if (std::string problem =
            givenPins.empty()
                ? ""
                : findMistake(*program.source, start, program.names, stage);
        !problem.empty()) {
      fail("--pin: what is pinned does not go together at " + problem);
      return std::nullopt;
    }
    for (const plan::Pin &pin : givenPins)
      if (!llvm::is_contained(unused, &pin))
        usedPins.insert(&pin);
    if (!annotate(program, stage, start))
      return std::nullopt;
    chosen.apply(graph, program.names, start, [&](StringRef weight) {
      return StringRef(representatives[weight]);
    });
    Plan found =
        plan::planByRoles(graph, stage, onnx::isDecode(program.function),
                          experts, options, &start);
    if (std::string problem =
            plan::findUnkept(givenPins, graph, program.names, stage, found);
        !problem.empty()) {
      fail("--pin " + problem);
      return std::nullopt;
    }
    return found;
  }

  /// Where the sizes of a typical request are known.
  bool readTypical() {
    llvm::StringMap<int64_t> sizes;
    if (planSizes.empty())
      return true;
    if (!readSizes("plan-sizes", planSizes, sizes) || !readMachine(devices))
      return false;
    const dist::Axis *replicas = wholeMesh().find(dist::kReplicaAxis);
    typical = std::make_shared<SizedPrograms>(
        getOperation(), sizes,
        std::max<int64_t>(1, microBatches) * (replicas ? replicas->size : 1));
    return true;
  }

  /// Splits of weights for those, where nobody has decided any.
  void chooseForSizes(const dist::Mesh &stage, ExpertMode experts,
                      const plan::AxisOptions &options) {
    if (!typical || !given.is_null() || !givenPins.empty() ||
        !annotated.is_null())
      return;
    chosen = plan::chooseSplits(
        typical->programs(), {devices, wholeMesh(), stage, experts, options});
    if (chosen.factors.empty())
      return;
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (auto weight : function.getOps<onnx::WeightOp>())
        representatives[weight.getName()] =
            typical->standsFor(weight.getName()).str();
    getOperation().emitRemark()
        << "splits of weights were chosen for these sizes: " << chosen.why();
  }

  /// What cuts of stages are chosen by.
  void noteSeconds(const Program &program, const Plan &plan) {
    const dist::Axis *stages = wholeMesh().find(dist::kPipelineAxis);
    if (!typical || program.function != typical->main() || !stages ||
        stages->size == 1 || devices.devices.empty())
      return;
    const plan::Graph &graph = program.source->graph;
    const plan::Kernels kernels(graph);
    std::vector<std::vector<double>> seconds(graph.ops.size());
    for (const plan::Machine &kind :
         plan::stageDevices(devices, wholeMesh()).kinds)
      for (auto [own, op] : llvm::zip(
               seconds, plan::RunCost(graph, kernels, kind, wholeMesh())
                            .run(plan, typical->programs().front().sizes)))
        own.push_back(op.total());
    for (auto [op, own] : llvm::zip(program.source->ops, seconds))
      dist::setOpSeconds(op, own);
  }

  bool readSizes(StringRef option, ArrayRef<std::string> entries,
                 llvm::StringMap<int64_t> &sizes) {
    const std::string problem = plan::parseSizes(entries, sizes);
    return problem.empty() || fail(option + " " + problem);
  }

  const dist::Mesh &wholeMesh() {
    return *dist::getMesh(getOperation()).getMesh().getMesh();
  }

  bool readMachine(plan::Machine &typical) {
    const std::string problem =
        plan::parseMachineOrTypical(machine, wholeMesh().numRanks(), typical);
    return problem.empty() || fail("machine " + problem);
  }

  /// Those of the node that it is asked for.
  bool price(Program &program, const Plan &plan, const dist::Mesh &stage,
             ExpertMode experts, const plan::AxisOptions &options) {
    plan::Machine typical;
    llvm::StringMap<int64_t> sizes;
    if (!readMachine(typical) ||
        !readSizes("alternative-sizes", alternativeSizes, sizes))
      return false;
    const plan::Graph &graph = program.source->graph;
    Json found =
        priceAlternatives(graph, program.names, alternativesOf.getValue(), plan,
                          {typical, wholeMesh(), stage, plan::Sizes(sizes)},
                          [&](const Plan &start) {
                            return plan::planByRoles(
                                graph, stage, onnx::isDecode(program.function),
                                experts, options, &start);
                          });
    if (!found.empty())
      priced[program.function.getSymName().str()] = std::move(found);
    return true;
  }

  /// Of the request's sizes, but for those that say which profile it is.
  bool predict(const Program &program, const Plan &plan,
               const dist::Mesh &stage) {
    plan::Machine typical;
    llvm::StringMap<int64_t> sizes;
    if (!readMachine(typical) ||
        !readSizes("alternative-sizes", alternativeSizes, sizes))
      return false;
    for (const auto &entry : onnx::boundSymbols(program.function))
      sizes[entry.getKey()] = entry.getValue();
    predicted[onnx::profileText(program.function)] =
        secondsOf(program.source->graph, plan,
                  {typical, wholeMesh(), stage, plan::Sizes(sizes)})
            .total();
    return true;
  }

  /// Nothing, and an error, where the options make no sense.
  std::optional<ExpertMode> expertModeFor(ArrayRef<Program> programs,
                                          const dist::Mesh &stage,
                                          const plan::AxisOptions &options) {
    if (expertMode == "tensor")
      return ExpertMode::Tensor;
    if (expertMode == "batch")
      return ExpertMode::Batch;
    if (expertMode != "auto") {
      getOperation().emitError("expert-mode is \"")
          << expertMode << "\", expected auto, tensor or batch";
      return std::nullopt;
    }
    llvm::StringMap<int64_t> sizes;
    plan::Machine typical;
    if (!readSizes("plan-sizes", planSizes, sizes) || !readMachine(typical))
      return std::nullopt;
    SmallVector<const plan::Graph *> graphs;
    for (const Program &program : programs)
      graphs.push_back(&program.source->graph);
    plan::ExpertChoice choice =
        plan::chooseExpertMode(graphs, typical, stage, sizes, options);
    if (!choice.why.empty())
      getOperation().emitRemark() << choice.why;
    return choice.mode;
  }

  bool shard(Program &program, const dist::Mesh &stage, ExpertMode experts,
             const plan::AxisOptions &options) {
    func::FuncOp function = program.function;
    const FunctionGraph &source = *program.source;
    noteBatch(function, source, /*isCut=*/microBatches > 1);
    const std::optional<Plan> plan = planOf(program, stage, experts, options);
    if (!plan)
      return false;
    for (const plan::PlanNote &note : plan->notes)
      source.ops[note.op]->emitWarning() << note.text;
    if (!onnx::isForSizes(function))
      for (const dist::Axis &axis : stage.axes) {
        warnAboutIdleRanks(function, source, *plan, axis, stage);
        warnAboutRoundedShares(source, *plan, axis, stage);
      }
    noteSeconds(program, *plan);
    for (const plan::OpPlan &op : plan->ops)
      numSplitOps += op.uses(dist::wholeMesh(stage));
    if (keepPlan)
      kept[program.name()] =
          plan::writePlan(source.graph, *plan, program.names, stage);
    numReshards += writeShardings(function, source, *plan);
    if (predicts && !predict(program, *plan, stage))
      return false;
    return alternativesOf.empty() ||
           price(program, *plan, stage, experts, options);
  }

  std::vector<plan::Pin> givenPins;
  llvm::DenseSet<const plan::Pin *> usedPins;
  Json given;                             ///< plan, or null
  plan::Machine devices;                  ///< with `typical`
  std::shared_ptr<SizedPrograms> typical; ///< of a request of known sizes
  plan::ChosenSplits chosen;
  llvm::StringMap<std::string> representatives; ///< of weights, for `chosen`
  Json annotated;        ///< of the model's file, or null
  OutputsOfNode outputs; ///< with them
  Json kept = Json::object(), priced = Json::object(); ///< by function
  Json predicted = Json::object();                     ///< by profile
};

} // namespace
} // namespace shardc::shard
