//===- GivenStages.cpp - Stages that a model's file asks for --------------===//

#include "passes/stage/GivenStages.h"

#include "dialects/dist/Dist.h"
#include "dialects/dist/NodeName.h"
#include "dialects/onnx/ops/Dynamic.h"

using namespace mlir;
using Json = nlohmann::json;

namespace shardc::stage {

std::string GivenStages::read(StringRef text) {
  if (text.empty())
    return "";
  const Json given = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!given.is_object() || !given.contains("nodes") ||
      !given["nodes"].is_array())
    return "annotations are no JSON of nodes";
  for (const Json &entry : given["nodes"])
    if (entry.contains("stage") && entry["stage"].is_number_integer())
      stages[entry.value("node", "")] = entry["stage"].get<int64_t>();
  return "";
}

void GivenStages::readPlan(const Json &planned, StringRef planName) {
  origin = planName.str();
  remedy.clear();
  for (const auto &[node, stage] : planned.items())
    stages[node] = stage.get<int64_t>();
}

Json GivenStages::write() const {
  Json written = Json::object();
  for (const auto &known : stages)
    written[known.getKey().str()] = known.getValue();
  return written;
}

std::optional<int64_t> GivenStages::saidBy(Operation *op) const {
  if (isa<dist::DistDialect>(op->getDialect()) || op->getNumOperands() == 0)
    return std::nullopt;
  auto known = stages.find(nodeName(op));
  return known == stages.end() ? std::nullopt : std::optional(known->second);
}

/// By op: the stage that it says, or the last of its operands'.
llvm::DenseMap<Operation *, int64_t>
GivenStages::stagesOf(func::FuncOp function, Operation *&early,
                      Operation *&needed) const {
  llvm::DenseMap<Operation *, int64_t> found;
  for (Operation &op : function.front().without_terminator()) {
    int64_t stage = 0;
    Operation *last = nullptr;
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && found.lookup(producer) > stage) {
        stage = found.lookup(producer);
        last = producer;
      }
    const std::optional<int64_t> said = saidBy(&op);
    if (said && *said < stage && !early) {
      early = &op;
      needed = last;
    }
    found[&op] = std::max(stage, said.value_or(0));
  }
  return found;
}

LogicalResult GivenStages::arrange(func::FuncOp function) const {
  Operation *early = nullptr, *needed = nullptr;
  const auto found = stagesOf(function, early, needed);
  if (early) {
    InFlightDiagnostic error =
        early->emitError("is put into pipeline_stage ")
        << *saidBy(early) << " by " << origin << ", but it needs what stage "
        << found.lookup(needed) << " computes; give it pipeline_stage "
        << found.lookup(needed) << " or more";
    error.attachNote(needed->getLoc()) << "is in that stage";
    return failure();
  }
  // Who reads a size that data give must stay behind what binds it.
  Block &block = function.front();
  if (!block.getOps<onnx::ReadSizesOp>().empty())
    return success();
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  llvm::stable_sort(ops, [&](Operation *a, Operation *b) {
    return found.lookup(a) < found.lookup(b);
  });
  for (Operation *op : ops)
    op->moveBefore(block.getTerminator());
  return success();
}

LogicalResult GivenStages::cut(func::FuncOp function, const StageGraph &graph,
                               size_t numStages,
                               SmallVectorImpl<unsigned> &firstOps) const {
  Operation *early = nullptr, *needed = nullptr;
  const auto found = stagesOf(function, early, needed);
  int64_t stage = -1;
  for (auto [number, op] : llvm::enumerate(graph.fixedOps)) {
    const int64_t here = found.lookup(op);
    if (here < stage)
      return op->emitError("is in pipeline_stage ")
             << here << ", but comes behind what is in stage " << stage
             << ", whose sizes follow from data; give it pipeline_stage "
             << stage;
    for (; stage < here; ++stage) {
      if (number > 0 && !graph.mayCutBefore(number))
        return op->emitError("begins pipeline_stage ")
               << here
               << " within a sum of which each rank holds a part; let the "
                  "stage begin at another node";
      firstOps.push_back(number);
    }
  }
  if (firstOps.size() == numStages && llvm::is_sorted(firstOps) &&
      std::adjacent_find(firstOps.begin(), firstOps.end()) == firstOps.end())
    return success();
  for (size_t s = 0; s < numStages; ++s)
    if (s >= firstOps.size() ||
        (s + 1 < firstOps.size() && firstOps[s] == firstOps[s + 1]))
      return function.emitError("--pp ")
             << numStages << ": no node with weights is in pipeline_stage " << s
             << " of " << origin << "; give each stage some" << remedy;
  return function.emitError("--pp ")
         << numStages << ": there are " << firstOps.size() << " stages in "
         << origin << "; use --pp " << firstOps.size();
}

} // namespace shardc::stage
