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

/// The dim of `to` that these axes split, behind what splits it already in
/// `now`: a sum over them may be scattered along it.
static std::optional<size_t> scatteredDim(const Sharding &now,
                                          const Sharding &to,
                                          llvm::ArrayRef<AxisRef> axes) {
  for (size_t d = 0; d < to.dims.size(); ++d) {
    std::optional<Sharding> gathered = dist::allGather(to, d, axes);
    if (gathered && gathered->dims[d] == now.dims[d])
      return d;
  }
  return std::nullopt;
}

/// Minor axes of a dim without which it is as in `to`, or may be cut to it;
/// none where all of its axes have to go.
static llvm::SmallVector<AxisRef, 2> extraAxes(const Sharding &now,
                                               const Sharding &to, size_t d) {
  llvm::SmallVector<AxisRef, 2> kept = to.dims[d].axes(), extra;
  for (const AxisRef &axis : gatheredAxes(now.dims[d]))
    if (!llvm::is_contained(kept, axis))
      extra.push_back(axis);
  std::optional<Sharding> gathered = dist::allGather(now, d, extra);
  if (!gathered || !isCut(*gathered, to, d))
    extra.clear();
  return extra;
}

/// Some of these axes, which split dim `d`, moved to where `to` has them: to
/// another dim, or to other parts of this one.
static std::optional<ReshardStep> moveAxes(const Sharding &now,
                                           const Sharding &to, size_t d,
                                           llvm::ArrayRef<AxisRef> axes) {
  for (size_t e = 0; e < to.dims.size(); ++e) {
    llvm::SmallVector<AxisRef, 2> wanted = to.dims[e].axes(), moved;
    llvm::copy_if(axes, std::back_inserter(moved), [&](const AxisRef &axis) {
      return llvm::is_contained(wanted, axis);
    });
    std::optional<Sharding> gathered = dist::allGather(now, d, moved);
    Sharding after = gathered.value_or(now);
    after.dims[e] = to.dims[e];
    if (dist::isAllToAll(now, after, d, e, moved))
      return ReshardStep{StepKind::AllToAll, d,     moved,
                         ReduceKind::Sum,    after, e};
  }
  return std::nullopt;
}

/// Minor ways of an axis of dim `d` whose major ways can move to another dim
/// once the minor ones are gathered: 4 ranks for 2 heads.
static std::optional<AxisRef> minorOfMoved(const Sharding &now,
                                           const Sharding &to, size_t d,
                                           llvm::ArrayRef<AxisRef> axes) {
  for (const AxisRef &axis : axes)
    for (const DimSharding &dim : to.dims)
      for (const AxisRef &major : dim.axes()) {
        if (major.name != axis.name || major.pre != axis.pre ||
            major.size >= axis.size || axis.size % major.size != 0)
          continue;
        const AxisRef minor{axis.name, axis.pre * major.size,
                            axis.size / major.size};
        std::optional<Sharding> gathered = dist::allGather(now, d, minor);
        if (gathered && moveAxes(*gathered, to, d, major))
          return minor;
      }
  return std::nullopt;
}

std::vector<ReshardStep> planReshard(const Sharding &from, const Sharding &to,
                                     bool moves) {
  std::vector<ReshardStep> steps;
  Sharding now = from;
  for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min}) {
    llvm::SmallVector<AxisRef, 2> axes = partialOnlyIn(now, to, kind);
    if (axes.empty())
      continue;
    now = *dist::allReduce(now, axes, kind);
    if (std::optional<size_t> dim = scatteredDim(now, to, axes)) {
      now.dims[*dim] = to.dims[*dim];
      steps.push_back({StepKind::ReduceScatter, *dim, axes, kind, now});
    } else {
      steps.push_back({StepKind::AllReduce, 0, axes, kind, now});
    }
  }
  for (size_t d = 0; d < now.dims.size();) {
    if (isCut(now, to, d)) {
      ++d;
      continue;
    }
    llvm::SmallVector<AxisRef, 2> axes = extraAxes(now, to, d);
    if (axes.empty())
      axes = gatheredAxes(now.dims[d]);
    std::optional<ReshardStep> moved;
    if (moves && (moved = moveAxes(now, to, d, axes))) {
      now = moved->after;
      steps.push_back(*moved);
      continue;
    }
    std::optional<AxisRef> minor;
    if (moves && (minor = minorOfMoved(now, to, d, axes)))
      axes = {*minor};
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
