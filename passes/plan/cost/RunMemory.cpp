//===- RunMemory.cpp - Bytes that the fullest rank holds, op by op --------===//

#include "passes/plan/cost/RunMemory.h"

#include "dialects/dist/algebra/StorageAxis.h"
#include "passes/plan/StoredWeights.h"

namespace shardc::plan {

namespace {

class MemoryCount {
public:
  MemoryCount(const Graph &graph, const Kernels &kernels, const Plan &plan,
              const Sizes &sizes)
      : graph(graph), kernels(kernels), plan(plan), sizes(sizes),
        memory(graph.ops.size()) {}

  std::vector<OpMemory> run() {
    findLastUses();
    // Freed behind each op: what it used last.
    std::vector<double> freed(graph.ops.size() + 1, 0);
    double live = 0;
    const std::vector<double> gathered =
        gatheredBytes(graph, plan, sizes, storedOperands(graph, plan));
    const double layer = largestLayer(graph, gathered);
    for (unsigned op = 0; op < graph.ops.size(); ++op) {
      for (unsigned result : graph.ops[op].resultValues) {
        const GraphValue &value = graph.values[result];
        const double bytes = bytesOf(result);
        if (graph.ops[op].kind == OpKind::Weight)
          memory[op].weights += heldBytes(result);
        if (value.isCache && value.isReturned)
          memory[op].kv += bytes;
        if (!isActivation(result))
          continue;
        live += bytes;
        freed[std::max(op, lastUse[result])] += bytes;
      }
      // Two layers of weights that are put together, or one that is larger.
      const double stored = std::max(2 * layer, gathered[op]);
      memory[op].live = live + gatheredFor(op) + stored;
      live -= freed[op];
      memory[op].crossing = live;
    }
    return std::move(memory);
  }

private:
  double bytesOf(unsigned value) const {
    return sizes.largestPart(producedSharding(graph, plan, value)) *
           double(graph.values[value].bits) / 8;
  }

  /// Of a weight: once, or where sums stay whole once for each part of it that
  /// somebody wants, as of a tied table columns and rows. Who has all of it sees
  /// parts there.
  double heldBytes(unsigned weight) {
    llvm::SmallVector<dist::Sharding, 2> parts;
    if (graph.keepsSumsWhole &&
        !dist::isStoredInParts(producedSharding(graph, plan, weight)))
      findParts(weight, parts);
    const auto *whole = llvm::find_if(
        parts, [](const dist::Sharding &part) { return !part.isSplit(); });
    if (whole != parts.end())
      parts = {dist::Sharding(*whole)};
    if (parts.empty())
      return bytesOf(weight);
    double elements = 0;
    for (const dist::Sharding &part : parts)
      elements += sizes.largestPart(part);
    return elements * double(graph.values[weight].bits) / 8;
  }

  /// The parts that ops with a weight want. What views it in another way when it
  /// is loaded is split as what uses that wants it.
  void findParts(unsigned value, llvm::SmallVectorImpl<dist::Sharding> &parts) {
    for (unsigned user : graph.values[value].consumers) {
      const GraphOp &op = graph.ops[user];
      const size_t operand =
          llvm::find(op.operandValues, value) - op.operandValues.begin();
      if (!Kernels::isLoadTime(user, graph) || op.resultValues.size() != 1) {
        addPart(operandSharding(graph, plan, user, operand), parts);
        continue;
      }
      for (unsigned behind : graph.values[op.resultValues.front()].consumers) {
        Plan viewed(graph);
        viewed.ops[user] = plan.ops[behind];
        addPart(operandSharding(graph, viewed, user, operand), parts);
      }
    }
  }

  static void addPart(const dist::Sharding &part,
                      llvm::SmallVectorImpl<dist::Sharding> &parts) {
    if (!llvm::is_contained(parts, part))
      parts.push_back(part);
  }

  void findLastUses() {
    lastUse.assign(graph.values.size(), 0);
    for (unsigned op = 0; op < graph.ops.size(); ++op)
      for (unsigned operand : graph.ops[op].operandValues)
        if (operand != kNoValue)
          lastUse[kernels.storage[operand]] = op;
    for (unsigned value = 0; value < graph.values.size(); ++value)
      if (graph.values[value].isReturned)
        lastUse[kernels.storage[value]] = graph.ops.size();
  }

  bool isActivation(unsigned value) const {
    return kernels.isStored[value] && kernels.storage[value] == value &&
           !graph.values[value].isLoadTime && !graph.values[value].isCache;
  }

  /// Of operands that the op wants otherwise than they were made.
  double gatheredFor(unsigned number) const {
    const GraphOp &op = graph.ops[number];
    double bytes = 0;
    for (unsigned i = 0;
         i < op.operandValues.size() && kernels.roles[number] != Role::None;
         ++i) {
      const unsigned value = op.operandValues[i];
      if (value == kNoValue || graph.values[value].isLoadTime ||
          graph.values[value].isCache)
        continue;
      const dist::Sharding wanted = operandSharding(graph, plan, number, i);
      if (wanted.dims != producedSharding(graph, plan, value).dims)
        bytes +=
            sizes.largestPart(wanted) * double(graph.values[value].bits) / 8;
    }
    return bytes;
  }

  const Graph &graph;
  const Kernels &kernels;
  const Plan &plan;
  const Sizes &sizes;
  std::vector<unsigned> lastUse; ///< by value: the last op
  std::vector<OpMemory> memory;
};

} // namespace

std::vector<OpMemory> memoryOf(const Graph &graph, const Kernels &kernels,
                               const Plan &plan, const Sizes &sizes) {
  return MemoryCount(graph, kernels, plan, sizes).run();
}

} // namespace shardc::plan
