//===- Sharding.cpp - Which part of a value a rank holds ------------------===//

#include "dialects/dist/algebra/Sharding.h"

#include "dialects/dist/algebra/DimLimits.h"

#include "llvm/ADT/STLExtras.h"

namespace shardc::dist {

DimExpr Factor::lowerBound(const Mesh &mesh) const {
  return isSplit() ? owned(partOf(axes, mesh)).lowerBound(size) : DimExpr();
}

DimExpr Factor::localSize(const Mesh &mesh) const {
  return isSplit() ? owned(partOf(axes, mesh)).localSize(size) : size;
}

DimExpr Segment::size() const {
  DimExpr size = 1;
  for (const Factor &factor : factors)
    size = size * factor.size;
  return size;
}

bool Segment::isSplit() const {
  return llvm::any_of(factors, [](const Factor &f) { return f.isSplit(); });
}

DimExpr Segment::localSize(const Mesh &mesh) const {
  DimExpr size = 1;
  for (const Factor &factor : factors)
    size = size * factor.localSize(mesh);
  return size;
}

DimSharding DimSharding::unsplit(DimExpr size) {
  return DimSharding{{Segment{{Factor{size, {}}}}}};
}

DimSharding DimSharding::whole(DimExpr size, llvm::ArrayRef<AxisRef> axes) {
  DimSharding dim{{Segment{{Factor{size, {axes.begin(), axes.end()}}}}}};
  dim.normalize();
  return dim;
}

DimSharding DimSharding::zigZag(DimExpr size, llvm::ArrayRef<AxisRef> axes) {
  const DimExpr half = DimExpr::floorDiv(size, 2);
  DimSharding dim{
      {Segment{{Factor{half, {axes.begin(), axes.end()}}}},
       Segment{{Factor{size - half, {axes.begin(), axes.end()}, true}}}}};
  dim.normalize();
  return dim;
}

DimExpr DimSharding::size() const {
  llvm::SmallVector<DimExpr, 4> sizes;
  for (const Segment &segment : segments)
    sizes.push_back(segment.size());
  return sum(sizes);
}

bool DimSharding::isSplit() const {
  return llvm::any_of(segments, [](const Segment &s) { return s.isSplit(); });
}

DimExpr DimSharding::localSize(const Mesh &mesh) const {
  llvm::SmallVector<DimExpr, 4> sizes;
  for (const Segment &segment : segments)
    sizes.push_back(segment.localSize(mesh));
  return sum(sizes);
}

bool DimSharding::isOneRange() const {
  return segments.size() == 1 && isRangePerSegment();
}

bool DimSharding::isRangePerSegment() const {
  return llvm::all_of(segments, [](const Segment &segment) {
    return llvm::none_of(llvm::drop_begin(segment.factors),
                         [](const Factor &f) { return f.isSplit(); });
  });
}

llvm::SmallVector<Range, 2> DimSharding::rangesAt(
    llvm::function_ref<Part(llvm::ArrayRef<AxisRef>)> partOf) const {
  assert(isRangePerSegment() &&
         "what a rank owns is not one range of each segment");
  llvm::SmallVector<Range, 2> ranges;
  DimExpr before = 0;
  for (const Segment &segment : segments) {
    DimExpr minor = 1;
    for (const Factor &factor : llvm::drop_begin(segment.factors))
      minor = minor * factor.size;
    const Factor &major = segment.factors.front();
    const Part part =
        major.isSplit() ? major.owned(partOf(major.axes)) : Part();
    ranges.push_back({before + part.lowerBound(major.size) * minor,
                      part.localSize(major.size) * minor});
    before = before + segment.size();
  }
  return ranges;
}

llvm::SmallVector<Range, 2> DimSharding::ranges(const Mesh &mesh) const {
  return rangesAt(
      [&](llvm::ArrayRef<AxisRef> axes) { return partOf(axes, mesh); });
}

DimExpr DimSharding::lowerBound(const Mesh &mesh) const {
  assert(isOneRange() && "what a rank owns has no single first element");
  return ranges(mesh).front().start;
}

llvm::SmallVector<AxisRef, 2> DimSharding::axes() const {
  llvm::SmallVector<AxisRef, 2> axes;
  for (const Segment &segment : segments)
    for (const Factor &factor : segment.factors)
      for (const AxisRef &axis : factor.axes)
        if (!llvm::is_contained(axes, axis))
          axes.push_back(axis);
  return axes;
}

static void normalizeSegment(Segment &segment) {
  if (segment.factors.size() == 1) { // no neighbours to merge it with
    Factor &factor = segment.factors.front();
    if (factor.isSplit())
      factor.axes = mergeSubAxes(factor.axes);
    factor.isReversed &= factor.isSplit();
    return;
  }
  llvm::SmallVector<Factor, 2> merged;
  for (Factor &factor : segment.factors) {
    factor.axes = mergeSubAxes(factor.axes);
    factor.isReversed &= factor.isSplit();
    if (!factor.isSplit() && factor.size.isConstant(1))
      continue;
    if (!merged.empty() && !merged.back().isSplit() && !factor.isSplit())
      merged.back().size = merged.back().size * factor.size;
    else
      merged.push_back(std::move(factor));
  }
  if (merged.empty())
    merged.push_back(Factor{});
  segment.factors = std::move(merged);
}

static bool isEmpty(const Segment &segment) {
  return llvm::any_of(segment.factors,
                      [](const Factor &f) { return f.size.isConstant(0); });
}

void DimSharding::normalize() {
  if (segments.size() == 1) { // no neighbours to merge it with
    normalizeSegment(segments.front());
    return;
  }
  llvm::SmallVector<Segment, 1> merged;
  for (Segment &segment : segments) {
    normalizeSegment(segment);
    if (isEmpty(segment) && segments.size() > 1)
      continue;
    if (!merged.empty() && !merged.back().isSplit() && !segment.isSplit())
      merged.back() =
          Segment{{Factor{merged.back().size() + segment.size(), {}}}};
    else
      merged.push_back(std::move(segment));
  }
  if (merged.empty())
    merged.push_back(Segment{{Factor{0, {}}}});
  segments = std::move(merged);
}

llvm::StringRef stringify(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return "sum";
  case ReduceKind::Max:
    return "max";
  case ReduceKind::Min:
    return "min";
  }
  return "";
}

std::optional<ReduceKind> symbolizeReduceKind(llvm::StringRef text) {
  for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min})
    if (stringify(kind) == text)
      return kind;
  return std::nullopt;
}

Sharding Sharding::replicated(llvm::ArrayRef<DimExpr> dims) {
  Sharding sharding;
  for (DimExpr dim : dims)
    sharding.dims.push_back(DimSharding::unsplit(dim));
  return sharding;
}

bool Sharding::isSplit() const {
  return llvm::any_of(dims, [](const DimSharding &d) { return d.isSplit(); });
}

llvm::SmallVector<DimExpr, 4> Sharding::localDims(const Mesh &mesh) const {
  llvm::SmallVector<DimExpr, 4> local;
  for (const DimSharding &dim : dims)
    local.push_back(dim.localSize(mesh));
  return local;
}

void Sharding::normalize() {
  for (DimSharding &dim : dims)
    dim.normalize();
  llvm::sort(partial);
  // "tp":(1)4 and "tp":(4)2, both summed, are one partial "tp".
  llvm::SmallVector<PartialAxis, 1> merged;
  for (PartialAxis &axis : partial) {
    if (!merged.empty() && merged.back().kind == axis.kind &&
        merged.back().axis.name == axis.axis.name &&
        merged.back().axis.pre * merged.back().axis.size == axis.axis.pre)
      merged.back().axis.size *= axis.axis.size;
    else
      merged.push_back(axis);
  }
  partial = std::move(merged);
}

bool isSplitInPart(const Sharding &sharding) {
  return llvm::any_of(sharding.dims, [](const DimSharding &dim) {
    return dim.isSplit() &&
           !llvm::all_of(dim.segments, [](const Segment &segment) {
             return segment.isSplit();
           });
  });
}

llvm::hash_code hash_value(const Sharding &sharding) {
  llvm::hash_code hash = llvm::hash_value(sharding.dims.size());
  for (const DimSharding &dim : sharding.dims)
    for (const Segment &segment : dim.segments)
      for (const Factor &factor : segment.factors)
        hash = llvm::hash_combine(
            hash, factor.size, factor.isReversed,
            llvm::hash_combine_range(factor.axes.begin(), factor.axes.end()));
  for (const PartialAxis &axis : sharding.partial)
    hash = llvm::hash_combine(hash, axis.axis, static_cast<int>(axis.kind));
  return hash;
}

static std::string findAxisProblem(const AxisRef &axis, const Mesh &mesh) {
  const Axis *meshAxis = mesh.find(axis.name);
  if (!meshAxis)
    return "axis \"" + axis.name + "\" is not in the mesh";
  if (axis.pre < 1 || axis.size < 1 ||
      meshAxis->size % (axis.pre * axis.size) != 0)
    return "sub-axis \"" + axis.name + "\":(" + std::to_string(axis.pre) + ")" +
           std::to_string(axis.size) + " does not divide the axis of size " +
           std::to_string(meshAxis->size);
  return "";
}

/// An axis splits one dim (each of its segments at most once).
static std::string findDimProblem(const DimSharding &dim, const Mesh &mesh) {
  for (const Segment &segment : dim.segments) {
    llvm::SmallVector<AxisRef, 2> seen;
    for (const Factor &factor : segment.factors)
      for (const AxisRef &axis : factor.axes) {
        if (std::string problem = findAxisProblem(axis, mesh); !problem.empty())
          return problem;
        for (const AxisRef &other : seen)
          if (axis.overlaps(other))
            return "axis \"" + axis.name + "\" splits a dim twice";
        seen.push_back(axis);
      }
  }
  return "";
}

std::string findProblem(const Sharding &sharding, llvm::ArrayRef<DimExpr> dims,
                        const Mesh &mesh) {
  if (sharding.dims.size() != dims.size())
    return "sharding has " + std::to_string(sharding.dims.size()) +
           " dims, the value has " + std::to_string(dims.size());
  llvm::SmallVector<AxisRef, 4> seen;
  auto add = [&](const AxisRef &axis) {
    bool twice = llvm::any_of(
        seen, [&](const AxisRef &other) { return axis.overlaps(other); });
    seen.push_back(axis);
    return twice ? "axis \"" + axis.name + "\" is used twice" : std::string();
  };
  for (auto [dim, size] : llvm::zip_equal(sharding.dims, dims)) {
    if (dim.size() != size)
      return "sharding of a dim of size " + dim.size().str() +
             " on a dim of size " + size.str();
    if (std::string problem = findDimProblem(dim, mesh); !problem.empty())
      return problem;
    size_t before = seen.size();
    for (const AxisRef &axis : dim.axes()) {
      // Segments of one dim may use the same axis, in different parts even.
      for (const AxisRef &other : llvm::ArrayRef(seen).take_front(before))
        if (axis.overlaps(other))
          return "axis \"" + axis.name + "\" is used twice";
      seen.push_back(axis);
    }
  }
  for (const PartialAxis &partial : sharding.partial) {
    if (std::string p = findAxisProblem(partial.axis, mesh); !p.empty())
      return p;
    if (std::string p = add(partial.axis); !p.empty())
      return p;
  }
  return "";
}

} // namespace shardc::dist
