//===- ReshardPlan.cpp - Collectives that change a sharding ---------------===//

#include "passes/partition/ReshardPlan.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>

namespace shardc::partition {

using dist::AxisRef;
using dist::DimSharding;
using dist::PartialAxis;
using dist::ReduceKind;
using dist::Sharding;

/// Partial axes of `from` that `to` does not have, of one kind.
static llvm::SmallVector<AxisRef, 2>
partialOnlyIn(const Sharding &from, const Sharding &to, ReduceKind kind) {
  llvm::SmallVector<AxisRef, 2> axes;
  for (const PartialAxis &partial : from.partial)
    if (partial.kind == kind && !llvm::is_contained(to.partial, partial))
      axes.push_back(partial.axis);
  return axes;
}

/// Whether a dim may go from one to the other by cutting alone.
static bool isCut(const Sharding &from, const Sharding &to, size_t dim) {
  if (from.dims[dim] == to.dims[dim])
    return true;
  Sharding a = from, b = from;
  b.dims[dim] = to.dims[dim];
  return dist::isSlice(a, b);
}

/// The axes that split a dim; of those that overlap, in two segments, the
/// longer.
static llvm::SmallVector<AxisRef, 2> gatheredAxes(const DimSharding &dim) {
  llvm::SmallVector<AxisRef, 2> all = dim.axes(), axes;
  for (const AxisRef &axis : all)
    if (llvm::none_of(all, [&](const AxisRef &other) {
          return axis.overlaps(other) && other.size > axis.size;
        }))
      axes.push_back(axis);
  return axes;
}

std::vector<ReshardStep> planReshard(const Sharding &from, const Sharding &to) {
  std::vector<ReshardStep> steps;
  Sharding now = from;
  for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min}) {
    llvm::SmallVector<AxisRef, 2> axes = partialOnlyIn(now, to, kind);
    if (axes.empty())
      continue;
    now = *dist::allReduce(now, axes, kind);
    steps.push_back({StepKind::AllReduce, 0, axes, kind, now});
  }
  for (size_t d = 0; d < now.dims.size(); ++d) {
    if (isCut(now, to, d))
      continue;
    llvm::SmallVector<AxisRef, 2> axes = gatheredAxes(now.dims[d]);
    now = *dist::allGather(now, d, axes);
    steps.push_back({StepKind::AllGather, d, axes, ReduceKind::Sum, now});
  }
  if (now.dims != to.dims) {
    now.dims = to.dims;
    steps.push_back({StepKind::Slice, 0, {}, ReduceKind::Sum, now});
  }
  llvm::SmallVector<AxisRef, 2> added = partialOnlyIn(to, now, ReduceKind::Sum);
  if (!added.empty()) {
    now = *dist::once(now, added);
    steps.push_back({StepKind::Once, 0, added, ReduceKind::Sum, now});
  }
  assert(now == to && "a reshard that cannot be planned");
  return steps;
}

} // namespace shardc::partition
