//===- LayerGraph.cpp - A layer of the model under a plan -----------------===//

#include "compiler/plan/LayerGraph.h"

#include "dialects/dist/NodeName.h"
#include "passes/plan/cost/Kernels.h"

#include <nlohmann/json.hpp>

using namespace mlir;
using Json = nlohmann::json;

namespace shardc {

/// More boxes nobody can read.
static constexpr size_t kMostOps = 120;

namespace {

class LayerWriter {
public:
  LayerWriter(const shard::FunctionGraph &source, const plan::Plan &plan,
              const std::vector<plan::Seconds> &seconds)
      : source(source), plan(plan), seconds(seconds) {}

  Json run(llvm::ArrayRef<unsigned> ops) {
    Json list = Json::array();
    for (unsigned op : ops) {
      if (list.size() == kMostOps)
        break;
      add(op, list);
    }
    return list;
  }

private:
  void add(unsigned number, Json &list) {
    const plan::GraphOp &op = source.graph.ops[number];
    Json inputs = Json::array();
    for (unsigned value : op.operandValues)
      if (auto known = numbers.find(value); known != numbers.end())
        inputs.push_back(known->second);
    for (unsigned result : op.resultValues)
      numbers[result] = list.size();
    const dist::Sharding sharding =
        plan::resultSharding(source.graph, plan, number, 0);
    list.push_back({{"node", nodeName(source.ops[number]).str()},
                    {"op", source.ops[number]->getName().stripDialect().str()},
                    {"inputs", inputs},
                    {"sharding", sharding.str()},
                    {"split", sharding.isSplit()},
                    {"partial", sharding.isPartial()},
                    {"seconds", seconds[number].compute + seconds[number].read},
                    {"waits", seconds[number].communication}});
  }

  const shard::FunctionGraph &source;
  const plan::Plan &plan;
  const std::vector<plan::Seconds> &seconds;
  llvm::DenseMap<unsigned, size_t> numbers; ///< in the list, by value
};

} // namespace

Json layerGraph(const shard::FunctionGraph &source, const plan::Plan &plan,
                const std::vector<plan::Seconds> &seconds) {
  // The layer that stands for the most others.
  double most = 1;
  for (const plan::GraphOp &op : source.graph.ops)
    most = std::max(most, op.count);
  SmallVector<unsigned> ops;
  for (auto [number, op] : llvm::enumerate(source.graph.ops))
    if (op.count == most && !plan::Kernels::isLoadTime(number, source.graph))
      ops.push_back(number);
  return LayerWriter(source, plan, seconds).run(ops);
}

} // namespace shardc
