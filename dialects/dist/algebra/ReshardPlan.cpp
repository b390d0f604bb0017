//===- ReshardPlan.cpp - Collectives that change a sharding ---------------===//

#include "dialects/dist/algebra/ReshardPlan.h"

#include "llvm/ADT/STLExtras.h"

namespace shardc::dist {

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
  return isSlice(a, b);
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
    std::optional<Sharding> gathered = allGather(to, d, axes);
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
  std::optional<Sharding> gathered = allGather(now, d, extra);
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
    std::optional<Sharding> gathered = allGather(now, d, moved);
    Sharding after = gathered.value_or(now);
    after.dims[e] = to.dims[e];
    if (isAllToAll(now, after, d, e, moved))
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
        std::optional<Sharding> gathered = allGather(now, d, minor);
        if (gathered && moveAxes(*gathered, to, d, major))
          return minor;
      }
  return std::nullopt;
}

namespace {

/// Makes the steps one by one; each says false where there is none.
class Planner {
public:
  Planner(const Sharding &from, const Sharding &to, bool moves)
      : now(from), to(to), moves(moves) {}

  std::optional<std::vector<ReshardStep>> plan() {
    if (now.dims.size() != to.dims.size())
      return std::nullopt;
    for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min})
      if (!reduce(kind))
        return std::nullopt;
    for (size_t d = 0; d < now.dims.size(); ++d)
      while (!isCut(now, to, d))
        if (!gatherOrMove(d))
          return std::nullopt;
    if (now.dims != to.dims) {
      now.dims = to.dims;
      add({StepKind::Slice, 0, {}, ReduceKind::Sum, now});
    }
    if (!addOnce() || now != to)
      return std::nullopt;
    return steps;
  }

private:
  void add(ReshardStep step) {
    now = step.after;
    steps.push_back(std::move(step));
  }

  bool reduce(ReduceKind kind) {
    llvm::SmallVector<AxisRef, 2> axes = partialOnlyIn(now, to, kind);
    if (axes.empty())
      return true;
    std::optional<Sharding> after = allReduce(now, axes, kind);
    if (!after)
      return false;
    if (std::optional<size_t> dim = scatteredDim(*after, to, axes)) {
      after->dims[*dim] = to.dims[*dim];
      add({StepKind::ReduceScatter, *dim, axes, kind, *after});
    } else {
      add({StepKind::AllReduce, 0, axes, kind, *after});
    }
    return true;
  }

  bool gatherOrMove(size_t d) {
    llvm::SmallVector<AxisRef, 2> axes = extraAxes(now, to, d);
    if (axes.empty())
      axes = gatheredAxes(now.dims[d]);
    if (moves) {
      if (std::optional<ReshardStep> moved = moveAxes(now, to, d, axes)) {
        add(std::move(*moved));
        return true;
      }
      if (std::optional<AxisRef> minor = minorOfMoved(now, to, d, axes))
        axes = {*minor};
    }
    std::optional<Sharding> after = allGather(now, d, axes);
    if (!after || after->dims[d] == now.dims[d])
      return false;
    add({StepKind::AllGather, d, axes, ReduceKind::Sum, *after});
    return true;
  }

  bool addOnce() {
    llvm::SmallVector<AxisRef, 2> axes =
        partialOnlyIn(to, now, ReduceKind::Sum);
    std::optional<Sharding> after = now;
    if (!axes.empty() && (after = once(now, axes)))
      add({StepKind::Once, 0, axes, ReduceKind::Sum, *after});
    return bool(after);
  }

  Sharding now;
  const Sharding &to;
  const bool moves;
  std::vector<ReshardStep> steps;
};

} // namespace

std::optional<std::vector<ReshardStep>>
planReshard(const Sharding &from, const Sharding &to, bool moves) {
  return Planner(from, to, moves).plan();
}

} // namespace shardc::dist
