//===- Kernels.cpp - Which ops run as kernels -----------------------------===//

#include "passes/plan/cost/Kernels.h"

#include <numeric>

namespace shardc::plan {

/// As many elements, moved: another view of them.
static bool isView(const GraphOp &op, const Graph &graph) {
  if (op.kind != OpKind::Other || op.partialRule != onnx::PartialRule::Moves ||
      op.operandValues.empty() || op.operandValues[0] == kNoValue ||
      op.resultValues.size() != 1)
    return false;
  const GraphValue &from = graph.values[op.operandValues[0]],
                   &to = graph.values[op.resultValues[0]];
  return from.bits == to.bits && from.elements == to.elements;
}

/// New positions behind those of a cache that came in.
static bool isAppend(const GraphOp &op, const Graph &graph) {
  if (op.kind == OpKind::CacheAppend)
    return true;
  return op.partialRule == onnx::PartialRule::MovesAll &&
         op.resultValues.size() == 1 &&
         graph.values[op.resultValues[0]].isCache &&
         llvm::any_of(op.operandValues, [&](unsigned value) {
           return value != kNoValue && graph.values[value].producer == kNoValue;
         });
}

bool Kernels::isLoadTime(unsigned op, const Graph &graph) {
  return llvm::all_of(graph.ops[op].resultValues, [&](unsigned value) {
    return graph.values[value].isLoadTime;
  });
}

Role Kernels::roleOf(unsigned number, const Graph &graph) const {
  const GraphOp &op = graph.ops[number];
  if (isLoadTime(number, graph) || isView(op, graph))
    return Role::None;
  if (op.kind == OpKind::Attention)
    return Role::Attention;
  if (isAppend(op, graph))
    return Role::Append;
  return op.multiplyAdds > 0 ? Role::Product : Role::Rows;
}

unsigned Kernels::producerOf(unsigned value, const Graph &graph) const {
  return graph.values[storage[value]].producer;
}

void Kernels::add(unsigned number, const Graph &graph) {
  const GraphOp &op = graph.ops[number];
  roles[number] = roleOf(number, graph);
  if (isView(op, graph))
    storage[op.resultValues[0]] = storage[op.operandValues[0]];
  for (unsigned operand : op.operandValues)
    if (operand != kNoValue && producerOf(operand, graph) != kNoValue) {
      const unsigned producer = producerOf(operand, graph);
      const bool isCall = roles[producer] == Role::Product ||
                          roles[producer] == Role::Attention;
      levels[number] = std::max(levels[number], levels[producer] + isCall);
    }
  if (roles[number] == Role::None)
    return;
  // Appending is part of what makes the new positions.
  bool isPart = roles[number] == Role::Append;
  if (op.usesWeight && op.matrices.size() == 1 &&
      op.operandValues[0] != kNoValue)
    isPart = !factors.insert(op.operandValues[0]).second;
  for (unsigned operand : op.operandValues) {
    if (operand == kNoValue)
      continue;
    const unsigned producer = producerOf(operand, graph);
    const bool isJoined = roles[number] == Role::Rows && producer != kNoValue &&
                          roles[producer] == Role::Rows &&
                          levels[producer] == levels[number];
    isPart |= isJoined;
    if (!isJoined)
      isStored[storage[operand]] = true;
  }
  starts[number] = !isPart;
}

Kernels::Kernels(const Graph &graph)
    : roles(graph.ops.size(), Role::None), starts(graph.ops.size(), false),
      storage(graph.values.size()), isStored(graph.values.size(), false),
      levels(graph.ops.size(), 0) {
  std::iota(storage.begin(), storage.end(), 0);
  for (unsigned op = 0; op < graph.ops.size(); ++op)
    add(op, graph);
  for (unsigned value = 0; value < graph.values.size(); ++value)
    if (graph.values[value].isReturned)
      isStored[storage[value]] = true;
}

} // namespace shardc::plan
