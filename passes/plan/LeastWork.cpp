//===- LeastWork.cpp - What any split of weights leaves to do -------------===//

#include "passes/plan/LeastWork.h"

#include "passes/plan/PlanSearch.h"

#include <algorithm>

namespace shardc::plan {

/// Of the op's kernel, on the device that starts soonest.
static double startOf(const Kernels &kernels, unsigned op,
                      const Machine &machine) {
  double start = 0;
  for (const Device &device : machine.devices) {
    const double here = kernels.roles[op] == Role::Attention
                            ? device.attentionStartSeconds
                        : kernels.starts[op] ? device.startSeconds
                                             : 0;
    start = &device == &machine.devices.front() ? here : std::min(start, here);
  }
  return kernels.roles[op] == Role::Append ? 0 : start;
}

double leastWork(const Graph &graph, const Kernels &kernels,
                 const Machine &machine, llvm::ArrayRef<Seconds> whole,
                 const WorkSplit &split) {
  llvm::DenseSet<FactorNode> leaves;
  forEachMatrixLeaf(graph, LeafRole::Others,
                    [&](FactorNode leaf) { leaves.insert(leaf); });
  double least = 0;
  for (auto [op, seconds] : llvm::enumerate(whole)) {
    const GraphOp &own = graph.ops[op];
    const double busy = seconds.compute + seconds.read;
    // Keys may have parts by position (KeyParts.h).
    const bool mayBeSplit = split.splitsOthers ||
                            own.kind == OpKind::Attention ||
                            own.kind == OpKind::CacheAppend ||
                            llvm::any_of(own.leaves, [&](const OpLeaf &leaf) {
                              return leaves.contains(leaf.leaf);
                            });
    const double kept =
        mayBeSplit ? std::min(busy, startOf(kernels, op, machine)) : busy;
    least += own.count * (kept + (busy - kept) / split.parts);
  }
  return least;
}

} // namespace shardc::plan
