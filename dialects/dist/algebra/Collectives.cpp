//===- Collectives.cpp - What collectives do to shardings -----------------===//

#include "dialects/dist/algebra/Collectives.h"

#include "llvm/ADT/STLExtras.h"

namespace shardc::dist {

/// Cuts `part` out of `whole`; what is left over, major and minor.
static std::optional<llvm::SmallVector<AxisRef, 2>> cut(const AxisRef &whole,
                                                        const AxisRef &part) {
  if (whole.name != part.name || part.pre < whole.pre ||
      part.pre * part.size > whole.pre * whole.size ||
      part.pre % whole.pre != 0 ||
      (whole.pre * whole.size) % (part.pre * part.size) != 0)
    return std::nullopt;
  llvm::SmallVector<AxisRef, 2> rest;
  if (part.pre > whole.pre)
    rest.push_back({whole.name, whole.pre, part.pre / whole.pre});
  int64_t end = part.pre * part.size, wholeEnd = whole.pre * whole.size;
  if (end < wholeEnd)
    rest.push_back({whole.name, end, wholeEnd / end});
  return rest;
}

std::optional<Sharding> allReduce(const Sharding &sharding,
                                  llvm::ArrayRef<AxisRef> axes,
                                  ReduceKind kind) {
  Sharding result = sharding;
  for (const AxisRef &axis : axes) {
    bool found = false;
    for (size_t i = 0; i < result.partial.size() && !found; ++i) {
      if (result.partial[i].kind != kind)
        continue;
      auto rest = cut(result.partial[i].axis, axis);
      if (!rest)
        continue;
      found = true;
      result.partial.erase(result.partial.begin() + i);
      for (const AxisRef &left : *rest)
        result.partial.push_back({left, kind});
    }
    if (!found)
      return std::nullopt;
  }
  result.normalize();
  return result;
}

/// Removes `axes`, which must be a suffix of `from` where they occur at all.
/// Counts what it removed.
static bool removeMinor(llvm::SmallVector<AxisRef, 1> &from,
                        llvm::ArrayRef<AxisRef> axes, size_t &removed) {
  while (!from.empty()) {
    const AxisRef minor = from.back();
    bool isRemoved = false;
    for (const AxisRef &axis : axes) {
      if (!minor.overlaps(axis))
        continue;
      isRemoved = true;
      if (cut(axis, minor)) {
        from.pop_back();
        break;
      }
      // Only the minor part of a longer axis goes: "tp"=8 less "tp":(4)2.
      auto left = cut(minor, axis);
      if (!left || left->size() != 1 || left->front().pre != minor.pre)
        return false;
      from.back() = left->front();
      break;
    }
    if (!isRemoved)
      break;
    ++removed;
  }
  return llvm::none_of(from, [&](const AxisRef &kept) {
    return llvm::any_of(
        axes, [&](const AxisRef &axis) { return kept.overlaps(axis); });
  });
}

/// Whether all of an axis splits some segment of the dim: a larger group would
/// gather parts that are not there.
static bool coversAxis(const DimSharding &dim, const AxisRef &axis) {
  return llvm::any_of(dim.segments, [&](const Segment &segment) {
    int64_t ways = 1;
    for (const Factor &factor : segment.factors)
      for (const AxisRef &part : factor.axes)
        if (part.overlaps(axis))
          ways *= cut(part, axis) ? axis.size : part.size;
    return ways == axis.size;
  });
}

std::optional<Sharding> allGather(const Sharding &sharding, size_t dim,
                                  llvm::ArrayRef<AxisRef> axes) {
  if (dim >= sharding.dims.size() || axes.empty())
    return std::nullopt;
  Sharding result = sharding;
  size_t removed = 0;
  for (Segment &segment : result.dims[dim].segments)
    for (Factor &factor : segment.factors)
      if (!removeMinor(factor.axes, axes, removed))
        return std::nullopt;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (!coversAxis(sharding.dims[dim], axis))
      return std::nullopt;
    for (const AxisRef &other : axes.take_front(i))
      if (axis.overlaps(other))
        return std::nullopt;
  }
  if (removed == 0)
    return std::nullopt;
  result.normalize();
  return result;
}

bool isAllToAll(const Sharding &before, const Sharding &after, size_t from,
                size_t to, llvm::ArrayRef<AxisRef> axes) {
  std::optional<Sharding> gathered = allGather(before, from, axes);
  return gathered && before != after && gathered == allGather(after, to, axes);
}

bool isSlice(const Sharding &before, const Sharding &after) {
  if (before.dims.size() != after.dims.size() ||
      before.partial != after.partial || before == after)
    return false;
  Sharding stripped = after;
  for (size_t d = 0; d < after.dims.size(); ++d) {
    if (stripped.dims[d] == before.dims[d])
      continue;
    llvm::SmallVector<AxisRef, 2> added;
    for (const AxisRef &axis : after.dims[d].axes())
      if (!llvm::is_contained(before.dims[d].axes(), axis))
        added.push_back(axis);
    std::optional<Sharding> gathered = allGather(stripped, d, added);
    if (!gathered)
      return false;
    stripped = *gathered;
  }
  return stripped == before;
}

std::optional<Sharding> once(const Sharding &sharding,
                             llvm::ArrayRef<AxisRef> axes) {
  Sharding result = sharding;
  for (const AxisRef &axis : axes) {
    for (const DimSharding &dim : sharding.dims)
      for (const AxisRef &used : dim.axes())
        if (used.overlaps(axis))
          return std::nullopt;
    for (const PartialAxis &partial : sharding.partial)
      if (partial.axis.overlaps(axis))
        return std::nullopt;
    result.partial.push_back({axis, ReduceKind::Sum});
  }
  result.normalize();
  return result;
}

} // namespace shardc::dist
