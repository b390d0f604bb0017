//===- AxisRoles.cpp - What the axes of a mesh are for --------------------===//

#include "passes/plan/AxisRoles.h"

#include "dialects/dist/algebra/StorageAxis.h"
#include "passes/plan/CarriedSums.h"
#include "passes/plan/KeyParts.h"
#include "passes/plan/PlanSearch.h"
#include "passes/plan/SequenceSplit.h"
#include "passes/plan/StoredWeights.h"
#include "passes/plan/cost/RunCost.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace shardc::plan {

namespace {

struct AxisRoles {
  AxisList storage, context, experts, tensor;

  explicit AxisRoles(const dist::Mesh &mesh) {
    for (const dist::Axis &axis : mesh.axes) {
      const dist::AxisRef whole{axis.name, 1, axis.size};
      if (axis.size == 1)
        continue; // splits nothing
      if (axis.name == dist::kStorageAxis)
        storage.push_back(whole);
      else if (axis.name == dist::kContextAxis)
        context.push_back(whole);
      else if (axis.name == dist::kExpertAxis)
        experts.push_back(whole);
      else
        tensor.push_back(whole);
    }
  }
};

} // namespace

AxisList matrixAxes(const dist::Mesh &mesh, ExpertMode expertMode) {
  AxisRoles roles(mesh);
  AxisList axes;
  if (expertMode == ExpertMode::Tensor)
    axes = roles.experts;
  axes.append(roles.tensor);
  return axes;
}

Plan planByRoles(const Graph &graph, const dist::Mesh &mesh, bool isDecode,
                 ExpertMode expertMode, const AxisOptions &options,
                 const Plan *start) {
  AxisRoles roles(mesh);
  Plan plan = start ? *start : Plan(graph);
  searchPlan(graph, plan, roles.experts, LeafRole::Experts);
  // What is hidden in experts would be whole on each rank of the others.
  if (graph.keepsSumsWhole)
    searchPlan(graph, plan, roles.tensor, LeafRole::Experts);
  // Major of the rows that experts' ranks take: what a mixture gathers of those
  // are the minor ones.
  splitBatch(graph, plan, roles.storage);
  if (expertMode == ExpertMode::Batch)
    splitBatch(graph, plan, roles.experts);
  const AxisList matrices = matrixAxes(mesh, expertMode);
  searchPlan(graph, plan, matrices);
  if (!roles.experts.empty())
    searchPlan(graph, plan, roles.tensor);
  splitKeyParts(graph, plan, roles.context);
  const bool splitsResidual = options.sequenceParallel && !isDecode;
  carrySums(graph, plan, splitsResidual);
  if (!isDecode) {
    splitSequences(graph, plan, roles.context, SequenceUse::Context,
                   options.contextMode);
    splitAttention(graph, plan, roles.context, options.contextMode);
  }
  if (splitsResidual)
    splitSequences(graph, plan, matrices, SequenceUse::Residual);
  splitStorage(graph, plan, roles.storage);
  return plan;
}

/// Why the batch of a typical request is not to be split, or "".
static std::string whyNotBatch(const Graph &program,
                               const llvm::StringMap<int64_t> &sizes) {
  const std::optional<FactorNode> batch = findBatchLeaf(program);
  if (!batch)
    return "there is no batch to split";
  bool isKnown = true;
  program.space.size(*batch).forEachSymbol(
      [&](llvm::StringRef name, bool) { isKnown &= sizes.contains(name); });
  return isKnown ? ""
                 : "how many rows a batch has is not known (--plan-dims "
                   "batch=N, or --ep-mode)";
}

ExpertChoice chooseExpertMode(llvm::ArrayRef<const Graph *> programs,
                              const Machine &machine, const dist::Mesh &mesh,
                              const llvm::StringMap<int64_t> &sizes,
                              const AxisOptions &options) {
  if (AxisRoles(mesh).experts.empty())
    return {};
  double tensor = 0, batch = 0; // seconds
  for (const Graph *program : programs) {
    if (const std::string why = whyNotBatch(*program, sizes); !why.empty())
      return {ExpertMode::Tensor,
              "outside of experts \"ep\" is tensor parallelism: " + why};
    const Kernels kernels(*program);
    for (double *seconds : {&tensor, &batch}) {
      const Plan tried = planByRoles(
          *program, mesh, /*isDecode=*/false,
          seconds == &batch ? ExpertMode::Batch : ExpertMode::Tensor, options);
      RunCost cost(*program, kernels, machine, mesh);
      for (const Seconds &ofOp : cost.run(tried, Sizes(sizes)))
        *seconds += ofOp.total();
    }
  }
  std::string why;
  llvm::raw_string_ostream os(why);
  const bool splitsBatch = batch < tensor;
  os << "outside of experts \"ep\" "
     << (splitsBatch ? "splits the batch" : "is tensor parallelism") << ": "
     << llvm::format("%.2f", splitsBatch ? batch / tensor : tensor / batch)
     << " of the predicted time of "
     << (splitsBatch ? "more tensor parallelism" : "splitting the batch");
  return {splitsBatch ? ExpertMode::Batch : ExpertMode::Tensor, why};
}

} // namespace shardc::plan
