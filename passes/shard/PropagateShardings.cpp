//===- PropagateShardings.cpp - Decides how values are split --------------===//

#include "passes/shard/Passes.h"

#include "dialects/dist/Dist.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/Profiles.h"
#include "passes/plan/AxisRoles.h"
#include "passes/plan/machine/ReadMachine.h"
#include "passes/shard/BatchFactor.h"
#include "passes/shard/WriteShardings.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace shardc::shard {
#define GEN_PASS_DEF_PROPAGATESHARDINGS
#include "passes/shard/Passes.h.inc"

using plan::ExpertMode;
using plan::Plan;

namespace {

/// Says where an axis leaves ranks without work, or has none at all.
void warnAboutIdleRanks(func::FuncOp function, const FunctionGraph &source,
                        const Plan &plan, const dist::Axis &axis) {
  const plan::Graph &graph = source.graph;
  const dist::AxisRef whole{axis.name, 1, axis.size};
  bool isUsed = false;
  llvm::DenseSet<plan::FactorNode> seen;
  llvm::MapVector<int64_t, std::pair<unsigned, Operation *>> idle;
  for (auto [number, op] : llvm::enumerate(plan.ops)) {
    isUsed |= op.uses(whole);
    if (!graph.ops[number].usesWeight)
      continue; // an idle rank matters where the work is
    for (const plan::LeafSplit &split : op.splits) {
      std::optional<int64_t> size = graph.space.size(split.leaf).asConstant();
      int64_t ways = dist::numWays(split.axes);
      bool isHere = dist::overlapsAny(split.axes, whole);
      if (!isHere || !size || *size >= ways || !seen.insert(split.leaf).second)
        continue;
      auto &entry =
          idle[axis.size - std::max<int64_t>(1, axis.size * *size / ways)];
      entry.second = entry.second ? entry.second : source.ops[number];
      ++entry.first;
    }
  }
  if (!isUsed && axis.size > 1)
    function.emitWarning() << "nothing in the model can be split over \""
                           << axis.name << "\" = " << axis.size
                           << ": every rank computes the same";
  for (auto &[ranks, entry] : idle)
    entry.second->emitWarning()
        << ranks << " of " << axis.size << " ranks of \"" << axis.name
        << "\" are left idle by " << entry.first
        << (entry.first == 1 ? " factor" : " factors")
        << " with fewer elements than ranks, first here";
}

/// What the data decide is decided by every rank, of whole values.
void warnAboutBodies(func::FuncOp function) {
  for (Operation &op : function.front())
    if (op.getNumRegions() > 0)
      op.emitWarning() << op.getName().stripDialect()
                       << " runs whole on every rank: its condition depends on "
                          "data";
}

/// Which inputs micro-batches cut, or why there are none.
void noteBatch(func::FuncOp function, const FunctionGraph &graph) {
  BatchFactor batch = findBatch(function, graph);
  if (batch.why.empty()) {
    onnx::FunctionInfo(function).setBatchInputs(batch.inputs);
    return;
  }
  if (onnx::isDecode(function))
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
    std::optional<ExpertMode> experts = expertModeFor(programs, stage, options);
    if (!experts)
      return signalPassFailure();
    getOperation()->setAttr(
        kMatrixAxesAttr,
        dist::AxesAttr::get(&getContext(), plan::matrixAxes(stage, *experts)));
    for (Program &program : programs)
      shard(program, stage, *experts, options);
  }

private:
  struct Program {
    func::FuncOp function;
    std::unique_ptr<FunctionGraph> source;
  };
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
    for (StringRef entry : planSizes) {
      auto [name, text] = entry.rsplit('=');
      if (text.getAsInteger(10, sizes[name]) || sizes[name] < 1) {
        getOperation().emitError("plan-sizes has \"")
            << entry << "\", expected NAME=SIZE";
        return std::nullopt;
      }
    }
    plan::Machine typical;
    if (std::string problem = plan::parseMachineOrTypical(
            machine,
            dist::getMesh(getOperation()).getMesh().getMesh()->numRanks(),
            typical);
        !problem.empty()) {
      getOperation().emitError("machine ") << problem;
      return std::nullopt;
    }
    SmallVector<const plan::Graph *> graphs;
    for (const Program &program : programs)
      graphs.push_back(&program.source->graph);
    plan::ExpertChoice choice =
        plan::chooseExpertMode(graphs, typical, stage, sizes, options);
    if (!choice.why.empty())
      getOperation().emitRemark() << choice.why;
    return choice.mode;
  }

  void shard(Program &program, const dist::Mesh &stage, ExpertMode experts,
             const plan::AxisOptions &options) {
    auto &[function, source] = program;
    const bool isDecode = onnx::isDecode(function);
    if (microBatches > 1)
      noteBatch(function, *source);
    const Plan plan =
        plan::planByRoles(source->graph, stage, isDecode, experts, options);
    for (const plan::PlanNote &note : plan.notes)
      source->ops[note.op]->emitWarning() << note.text;
    if (!onnx::isForSizes(function))
      for (const dist::Axis &axis : stage.axes)
        warnAboutIdleRanks(function, *source, plan, axis);
    for (const plan::OpPlan &op : plan.ops)
      numSplitOps += op.uses(dist::wholeMesh(stage));
    numReshards += writeShardings(function, *source, plan);
  }
};

} // namespace
} // namespace shardc::shard
