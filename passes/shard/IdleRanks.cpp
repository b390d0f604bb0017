//===- IdleRanks.cpp - Ranks with less or more work than they should have -===//

#include "passes/shard/IdleRanks.h"

#include "dialects/dist/algebra/StorageAxis.h"
#include "passes/plan/PlanSearch.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace shardc::shard {

using plan::Plan;

namespace {

/// Whether ranks along the axis compute products of different rows.
bool splitsRows(const plan::Graph &graph, const Plan &plan,
                const dist::AxisRef &axis) {
  return llvm::any_of(llvm::enumerate(plan.ops), [&](auto op) {
    return graph.ops[op.index()].usesWeight && op.value().uses(axis);
  });
}

/// Ways over these axes that get none of so many elements.
int64_t countIdle(int64_t size, ArrayRef<dist::AxisRef> axes,
                  const dist::Mesh &mesh) {
  const auto bounds = dist::boundsOf(axes, mesh);
  int64_t idle = 0;
  for (size_t way = 0; way + 1 < bounds.size(); ++way)
    idle += bounds[way] * size / bounds.back() ==
            bounds[way + 1] * size / bounds.back();
  return idle;
}

} // namespace

void warnAboutIdleRanks(func::FuncOp function, const FunctionGraph &source,
                        const Plan &plan, const dist::Axis &axis,
                        const dist::Mesh &mesh) {
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
      if (!isHere || !size || !seen.insert(split.leaf).second)
        continue;
      const int64_t none = countIdle(*size, split.axes, mesh);
      if (none == 0)
        continue;
      auto &entry = idle[std::min(axis.size - 1, // not all of them
                                  (axis.size * none + ways - 1) / ways)];
      entry.second = entry.second ? entry.second : source.ops[number];
      ++entry.first;
    }
  }
  if (isUsed && axis.size > 1 && axis.name == dist::kStorageAxis &&
      !splitsRows(source.graph, plan, whole))
    function.emitWarning() << "no rows can be split over \"" << axis.name
                           << "\" = " << axis.size
                           << ": its ranks share out weights, but compute the "
                              "same; use --tp to split work";
  if (!isUsed && axis.size > 1)
    function.emitWarning() << "nothing in the model can be split over \""
                           << axis.name << "\" = " << axis.size
                           << ": every rank computes the same";
  for (auto &[ranks, entry] : idle)
    entry.second->emitWarning()
        << ranks << " of " << axis.size << " ranks of \"" << axis.name
        << "\" are left idle by " << entry.first
        << (entry.first == 1 ? " factor" : " factors")
        << (axis.shares.empty() ? " with fewer elements than ranks"
                                : " with too few elements for their shares")
        << ", first here";
}

void warnAboutRoundedShares(const FunctionGraph &source, const Plan &plan,
                            const dist::Axis &axis, const dist::Mesh &mesh) {
  constexpr double kFar = 1.5;
  if (axis.shares.empty())
    return;
  const dist::AxisRef whole{axis.name, 1, axis.size};
  llvm::DenseSet<plan::FactorNode> seen;
  double most = 0;
  int64_t elements = 0;
  Operation *first = nullptr;
  for (auto [number, op] : llvm::enumerate(plan.ops))
    for (const plan::LeafSplit &split : op.splits) {
      const auto size = source.graph.space.size(split.leaf).asConstant();
      if (!source.graph.ops[number].usesWeight || !size ||
          !dist::overlapsAny(split.axes, whole) ||
          !seen.insert(split.leaf).second ||
          countIdle(*size, split.axes, mesh) > 0)
        continue;
      const double times = plan::timesItsShare(*size, split.axes, mesh);
      if (times <= std::max(most, kFar))
        continue;
      most = times;
      elements = *size;
      first = source.ops[number];
    }
  if (first)
    first->emitWarning() << "a rank of \"" << axis.name << "\" has "
                         << llvm::formatv("{0:f1}", most).str()
                         << " times its share of a factor of " << elements
                         << " elements; use shares whose sum divides them";
}

} // namespace shardc::shard
