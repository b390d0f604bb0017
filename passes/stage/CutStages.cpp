//===- CutStages.cpp - One function per pipeline stage --------------------===//

#include "passes/stage/Passes.h"

#include "dialects/dist/Dist.h"
#include "dialects/dist/OpSeconds.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Dynamic.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/plan/machine/ReadMachine.h"
#include "passes/stage/GivenStages.h"
#include "passes/stage/MatrixStages.h"
#include "passes/stage/PlannedCuts.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using Json = nlohmann::json;

namespace shardc::stage {
#define GEN_PASS_DEF_CUTSTAGES
#include "passes/stage/Passes.h.inc"

namespace {

/// Cuts one function (one profile) into stages.
class StageCutter {
public:
  StageCutter(func::FuncOp function, size_t numStages, StringRef suffix,
              MatrixStages &matrices, const GivenStages &given,
              const Json &planned, StringRef planName,
              const plan::StageDevices &devices)
      : function(function), suffix(suffix), graph(function),
        numStages(numStages), matrices(matrices), given(given),
        planned(planned), planName(planName), devices(devices),
        builder(function.getContext()) {}

  unsigned numTransfers = 0;
  Json cuts = Json::array(); ///< as plans have them; none of given stages

  LogicalResult run() {
    if (numStages > graph.pieces.size())
      return failToCut();
    if (!given.isEmpty()) {
      if (failed(given.cut(function, graph, numStages, firstOps)))
        return failure();
    } else if (failed(cut())) {
      return failure();
    }
    needed.resize(numStages);
    for (Operation *op : graph.fixedOps)
      need(op, stageOf(op));
    placeOutputs();
    placeGuards();
    findReceivers();
    for (unsigned stage = 0; stage < numStages; ++stage)
      build(stage);
    function.erase();
    return success();
  }

private:
  LogicalResult failToCut() {
    const size_t most = graph.pieces.size();
    const std::string at = planName.empty()
                               ? "--pp " + std::to_string(numStages)
                               : planName.str() + ": \"mesh\" has \"pp\" = " +
                                     std::to_string(numStages);
    const std::string wanted =
        planName.empty() ? "--pp " : "a plan that was saved with --pp ";
    return function.emitError(at)
           << ": the model can be cut into at most " << most << " stages; use "
           << wanted << most << " or less";
  }

  LogicalResult cut() {
    const std::optional<std::vector<size_t>> same =
        matrices.cuts(graph, numStages);
    std::vector<size_t> found;
    if (planned.is_null())
      found = same ? *same : search();
    else if (failed(readPlanned(same, found)))
      return failure();
    if (matrices.isEmpty())
      matrices.record(graph, found);
    cuts = writeCuts(graph, found);
    for (size_t piece : found)
      firstOps.push_back(graph.firstOps[piece]);
    return success();
  }

  std::vector<size_t> search() const {
    const bool areTimed =
        llvm::all_of(graph.pieces, [&](const plan::Piece &piece) {
          return piece.seconds.size() == devices.kinds.size();
        });
    return areTimed ? plan::searchCuts(graph.pieces, devices)
                    : plan::searchCuts(graph.pieces, numStages);
  }

  /// The plan's, which have to be those of the first profile, so that stages
  /// share weights and caches.
  LogicalResult readPlanned(const std::optional<std::vector<size_t>> &same,
                            std::vector<size_t> &found) {
    std::string problem = readCuts(planned, graph, numStages, found);
    if (problem.empty() && same && *same != found)
      problem = "are not those of the profiles before it, whose weights and "
                "caches it has; expected " +
                writeCuts(graph, *same).dump();
    if (problem.empty())
      return success();
    return function.emitError(planName)
           << ": \"cuts\" of @" << function.getSymName() << ": " << problem;
  }

  unsigned stageOf(Operation *op) const {
    auto next = llvm::upper_bound(firstOps, graph.numberOf(op));
    return next - firstOps.begin() - 1;
  }

  /// `op` is computed in that stage, and so is what is cheap before it, but not
  /// what is fixed in an earlier one.
  void need(Operation *last, unsigned stage) {
    SmallVector<Operation *> open{last};
    while (!open.empty()) {
      Operation *op = open.pop_back_val();
      bool isElsewhere = graph.isFixed(op) && stageOf(op) != stage;
      if (!isElsewhere && needed[stage].insert(op).second)
        open.append(graph.needs(op));
    }
  }

  /// Where an output is made: present of a cache that the function leaves as it
  /// is, past or nothing, where past is used; another cheap one in the last
  /// stage, which has what it may need.
  unsigned stageOfOutput(unsigned index, Value value) {
    Operation *producer = value.getDefiningOp();
    if (producer && graph.isFixed(producer))
      return stageOf(producer);
    std::optional<onnx::CacheInfo> cache =
        onnx::FunctionInfo(function).cache(index);
    if (cache && (!producer || producer->getNumOperands() == 0))
      value = function.front().getArgument(cache->input);
    llvm::SmallSetVector<Operation *, 4> users(value.getUsers().begin(),
                                               value.getUsers().end());
    for (size_t i = 0; i < users.size(); ++i) {
      if (graph.isFixed(users[i]))
        return stageOf(users[i]);
      users.insert(users[i]->getUsers().begin(), users[i]->getUsers().end());
    }
    return numStages - 1;
  }

  void placeOutputs() {
    Operation *terminator = function.front().getTerminator();
    for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
      Operation *producer = value.getDefiningOp();
      const unsigned stage = stageOfOutput(index, value);
      outputStages.push_back(stage);
      if (producer)
        need(producer, stage);
    }
  }

  /// In all stages: sizes of inputs are known in each, and what one of them reads
  /// may be there only if they hold. Those of sizes that are read go to the last
  /// one. So do reads of sizes that are known without them, which only check.
  void placeGuards() {
    auto place = [&](Operation *op) {
      need(op, graph.needs(op).empty() ? 0 : numStages - 1);
    };
    for (auto guard : function.getOps<onnx::GuardOp>())
      if (graph.needs(guard).empty())
        for (unsigned stage = 0; stage < numStages; ++stage)
          need(guard, stage);
      else
        place(guard);
    for (auto read : function.getOps<onnx::ReadSizesOp>())
      if (llvm::none_of(needed, [&](const llvm::DenseSet<Operation *> &ops) {
            return ops.contains(read.getOperation());
          }))
        place(read.getOperation());
  }

  /// Of several results of an op a stage gets those that it uses.
  void findReceivers() {
    for (unsigned stage = 0; stage < numStages; ++stage)
      for (Operation &op : function.front().without_terminator())
        if (needed[stage].contains(&op))
          for (Value operand : op.getOperands())
            if (Operation *producer = operand.getDefiningOp();
                producer && !needed[stage].contains(producer))
              receivers[operand].insert(stage);
  }

  void build(unsigned stage) {
    IRMapping mapping;
    builder.setInsertionPoint(function);
    std::string name = "stage" + std::to_string(stage) + suffix.str();
    auto made = func::FuncOp::create(builder, function.getLoc(), name,
                                     function.getFunctionType());
    made->setAttrs(function->getAttrs());
    made.setSymName(name);
    made.setArgAttrsAttr(function.getArgAttrsAttr());
    onnx::FunctionInfo(made).setStage(stage);
    Block *body = made.addEntryBlock();
    mapping.map(function.getArguments(), body->getArguments());
    builder.setInsertionPointToEnd(body);
    for (Operation &op : function.front().without_terminator()) {
      if (!needed[stage].contains(&op))
        continue;
      receiveOperands(op, stage, mapping);
      builder.clone(op, mapping);
      sendResults(op, mapping);
    }
    finish(made, stage, mapping);
  }

  void receiveOperands(Operation &op, unsigned stage, IRMapping &mapping) {
    for (Value operand : op.getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || mapping.contains(operand))
        continue;
      assert(stageOf(producer) < stage && "a value comes from a later stage");
      mapping.map(operand,
                  dist::ReceiveOp::create(
                      builder, operand.getLoc(), operand.getType(),
                      builder.getI64IntegerAttr(stageOf(producer)),
                      builder.getI64IntegerAttr(transfers[{operand, stage}])));
    }
  }

  void sendResults(Operation &op, const IRMapping &mapping) {
    if (!graph.isFixed(&op))
      return;
    for (Value result : op.getResults())
      for (unsigned stage : receivers[result]) {
        transfers[{result, stage}] = numTransfers;
        dist::SendOp::create(builder, op.getLoc(), mapping.lookup(result),
                             builder.getI64IntegerAttr(stage),
                             builder.getI64IntegerAttr(numTransfers++));
      }
  }

  void finish(func::FuncOp made, unsigned stage, const IRMapping &mapping) {
    Operation *terminator = function.front().getTerminator();
    SmallVector<Value> results;
    SmallVector<int64_t> outputs;
    SmallVector<Attribute> attributes;
    for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
      if (outputStages[index] != stage)
        continue;
      results.push_back(mapping.lookup(value));
      outputs.push_back(index);
      auto known = function.getResultAttrDict(index);
      attributes.push_back(known ? known : builder.getDictionaryAttr({}));
    }
    func::ReturnOp::create(builder, terminator->getLoc(), results);
    made.setType(FunctionType::get(builder.getContext(),
                                   function.getArgumentTypes(),
                                   ValueRange(results).getTypes()));
    made.setResAttrsAttr(builder.getArrayAttr(attributes));
    onnx::FunctionInfo(made).setModelOutputs(outputs);
  }

  func::FuncOp function;
  StringRef suffix;
  StageGraph graph;
  size_t numStages;
  MatrixStages &matrices; ///< of the first profile
  const GivenStages &given;
  const Json &planned; ///< the plan's cuts of this profile, or null
  StringRef planName;  ///< for messages; empty where there is no plan
  const plan::StageDevices &devices;
  OpBuilder builder;
  SmallVector<unsigned> firstOps;                  ///< by stage
  std::vector<llvm::DenseSet<Operation *>> needed; ///< by stage
  SmallVector<unsigned> outputStages;
  llvm::DenseMap<Value, llvm::SmallSetVector<unsigned, 2>> receivers;
  llvm::DenseMap<std::pair<Value, unsigned>, int64_t> transfers;
};

/// Puts what only makes an output of a value right behind it: a present that is
/// cast at the end of the model, say, belongs to the stage that appends to it.
void hoistOutputs(func::FuncOp function) {
  Block &block = function.front();
  llvm::DenseSet<Operation *> ofOutputs;
  for (Operation &op : llvm::reverse(block.without_terminator()))
    if (op.getNumOperands() == 1 && op.getNumResults() == 1 &&
        llvm::all_of(op.getUsers(), [&](Operation *user) {
          return isa<func::ReturnOp>(user) || ofOutputs.contains(user);
        }))
      ofOutputs.insert(&op);
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
    if (ofOutputs.contains(&op))
      if (Operation *producer = op.getOperand(0).getDefiningOp())
        op.moveAfter(producer);
}

struct CutStagesPass : impl::CutStagesBase<CutStagesPass> {
  using CutStagesBase::CutStagesBase;

  void runOnOperation() override {
    dist::MeshOp mesh = dist::getMesh(getOperation());
    const dist::Axis *axis =
        mesh ? mesh.getMesh().getMesh()->find(dist::kPipelineAxis) : nullptr;
    plan::StageDevices devices;
    if (mesh) {
      plan::Machine known;
      if (std::string problem = plan::parseMachineOrTypical(
              machine, mesh.getMesh().getMesh()->numRanks(), known);
          !problem.empty()) {
        getOperation().emitError("machine ") << problem;
        return signalPassFailure();
      }
      devices = plan::stageDevices(known, *mesh.getMesh().getMesh());
    }
    bool hasMain = false;
    MatrixStages matrices;
    GivenStages given;
    Json planned, cuts = Json::object();
    if (std::string problem = readGiven(axis, given, planned);
        !problem.empty()) {
      getOperation().emitError(problem);
      return signalPassFailure();
    }
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      std::string name = function.getSymName().str();
      StringRef suffix = name;
      if (!suffix.consume_front("main"))
        continue;
      hasMain = true;
      if (!axis) {
        function.setSymName(("stage0" + suffix).str());
        continue;
      }
      hoistOutputs(function);
      if (!given.isEmpty() && failed(given.arrange(function)))
        return signalPassFailure();
      const bool hasPlan = !plan.empty();
      const Json ofFunction = planned.value(name, Json());
      StageCutter cutter(function, axis->size, suffix, matrices, given,
                         ofFunction, hasPlan ? StringRef(planName) : "",
                         devices);
      if (failed(cutter.run()))
        return signalPassFailure();
      numTransfers += cutter.numTransfers;
      cuts[name] = std::move(cutter.cuts);
    }
    if (keepPlan && axis)
      keep(given, cuts);
    getOperation().walk(
        [](Operation *op) { op->removeAttr(dist::kSecondsAttr); });
    if (hasMain)
      return;
    getOperation().emitError("has no function @main to cut into stages");
    signalPassFailure();
  }

private:
  /// Of annotations and the plan. "" or what is wrong.
  std::string readGiven(bool isCut, GivenStages &given, Json &planned) {
    planned = Json::object();
    if (plan.empty())
      return given.read(annotations.getValue());
    const Json all = Json::parse(plan.getValue(), nullptr,
                                 /*allow_exceptions=*/false);
    if (!all.is_object())
      return planName + ": is no plan that --save-plan wrote";
    given.readPlan(all.value("stages", Json::object()), planName);
    planned = all.value("cuts", Json::object());
    for (const auto &[name, list] : planned.items()) {
      if (!getOperation().lookupSymbol(name))
        return planName + ": \"cuts\" has @" + name +
               ", which the model has not: it is of another model, or of other "
               "flags";
      if (!list.is_array())
        return planName + ": \"cuts\" of @" + name + " is no list";
      if (!isCut && !list.empty())
        return planName + ": \"cuts\" of @" + name + " has " +
               std::to_string(list.size()) +
               " cuts, and \"mesh\" no \"pp\"; leave one of them out";
    }
    return "";
  }

  void keep(const GivenStages &given, const Json &cuts) {
    const Json kept = given.isEmpty() ? Json{{"cuts", cuts}}
                                      : Json{{"stages", given.write()}};
    getOperation()->setAttr(
        kStagesAttr,
        StringAttr::get(
            &getContext(),
            kept.dump(-1, ' ', false, Json::error_handler_t::replace)));
  }
};

} // namespace
} // namespace shardc::stage
