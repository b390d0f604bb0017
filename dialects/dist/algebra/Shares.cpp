//===- Shares.cpp - Which part of a whole the ranks of axes have ----------===//

#include "dialects/dist/algebra/Shares.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace shardc::dist {

llvm::SmallVector<int64_t, 2> reducedShares(llvm::ArrayRef<int64_t> shares) {
  int64_t divisor = 0;
  for (int64_t share : shares)
    divisor = std::gcd(divisor, share);
  llvm::SmallVector<int64_t, 2> reduced;
  if (llvm::all_equal(shares))
    return reduced;
  for (int64_t share : shares)
    reduced.push_back(share / divisor);
  return reduced;
}

std::string problemOfShares(llvm::ArrayRef<int64_t> shares, const Axis &axis) {
  const std::string ways = axis.name + " has " + std::to_string(axis.size) +
                           (axis.size == 1 ? " way" : " ways");
  if (axis.name == kReplicaAxis || axis.name == kPipelineAxis)
    return axis.name + " splits no value; expected an axis that does";
  if (static_cast<int64_t>(shares.size()) != axis.size)
    return ways + "; name " + std::to_string(axis.size) +
           (axis.size == 1 ? " number" : " numbers");
  if (llvm::any_of(
          shares, [](int64_t share) { return share < 1 || share > kMaxShare; }))
    return ways + "; expected for each a number from 1 to " +
           std::to_string(kMaxShare);
  return "";
}

/// Of the ways of an axis or sub-axis; none where they are equal.
static llvm::SmallVector<int64_t, 2> sharesOf(const AxisRef &axis,
                                              const Mesh &mesh) {
  const Axis *whole = mesh.find(axis.name);
  if (!whole || whole->shares.empty() || axis.pre != 1)
    return {};
  const int64_t minor = whole->size / axis.size;
  llvm::SmallVector<int64_t, 2> sums(axis.size, 0);
  for (int64_t way = 0; way < whole->size; ++way)
    sums[way / minor] += whole->shares[way];
  return reducedShares(sums);
}

static int64_t totalOf(const AxisRef &axis, llvm::ArrayRef<int64_t> shares) {
  return shares.empty()
             ? axis.size
             : std::accumulate(shares.begin(), shares.end(), int64_t(0));
}

/// Shares of the ways before `way`, which is at most `last`: shares 5, 2, 1 are
/// 5 way - 3 max(way - 1, 0) - max(way - 2, 0). What is 0 up to `last` is left
/// out.
static DimExpr sharesBefore(llvm::ArrayRef<int64_t> shares, DimExpr way,
                            size_t last) {
  DimExpr before = DimExpr(shares.front()) * way;
  for (size_t next = 1; next < last; ++next)
    if (const int64_t step = shares[next] - shares[next - 1])
      before = before +
               DimExpr(step) * DimExpr::max(way - DimExpr(int64_t(next)), 0);
  return before;
}

static Part partOfWay(const AxisRef &axis, DimExpr way, const Mesh &mesh) {
  const llvm::SmallVector<int64_t, 2> shares = sharesOf(axis, mesh);
  if (shares.empty())
    return {way, way + 1, axis.size};
  return {sharesBefore(shares, way, shares.size() - 1),
          sharesBefore(shares, way + 1, shares.size()), totalOf(axis, shares)};
}

/// Of axes that are merged, by the way along each.
static Part nestedPart(llvm::ArrayRef<AxisRef> axes,
                       llvm::ArrayRef<DimExpr> ways, const Mesh &mesh) {
  Part part;
  for (auto [axis, way] : llvm::zip_equal(axes, ways)) {
    const Part inner = partOfWay(axis, way, mesh);
    const DimExpr before = part.begin * inner.total,
                  share = part.end - part.begin;
    part = {before + share * inner.begin, before + share * inner.end,
            part.total * inner.total};
  }
  return part;
}

Part partOf(llvm::ArrayRef<AxisRef> axes, const Mesh &mesh) {
  const llvm::SmallVector<AxisRef, 1> merged = mergeSubAxes(axes);
  llvm::SmallVector<DimExpr, 2> ways;
  for (const AxisRef &axis : merged)
    ways.push_back(axis.index(mesh));
  return nestedPart(merged, ways, mesh);
}

Part partAt(llvm::ArrayRef<AxisRef> axes, DimExpr way, const Mesh &mesh) {
  int64_t minor = numWays(axes);
  if (!hasShares(axes, mesh))
    return {way, way + 1, minor};
  const llvm::SmallVector<AxisRef, 1> merged = mergeSubAxes(axes);
  llvm::SmallVector<DimExpr, 2> ways;
  for (const AxisRef &axis : merged) {
    minor /= axis.size;
    const DimExpr ofMajor = DimExpr::floorDiv(way, minor);
    ways.push_back(ways.empty() ? ofMajor : DimExpr::mod(ofMajor, axis.size));
  }
  return nestedPart(merged, ways, mesh);
}

DimExpr Part::lowerBound(DimExpr size) const {
  return DimExpr::floorDiv(begin * size, total);
}

DimExpr Part::localSize(DimExpr size) const {
  if (std::optional<DimExpr> even = size.exactDiv(total))
    return *even * (end - begin);
  return DimExpr::floorDiv(end * size, total) -
         DimExpr::floorDiv(begin * size, total);
}

bool hasShares(llvm::ArrayRef<AxisRef> axes, const Mesh &mesh) {
  return llvm::any_of(mergeSubAxes(axes), [&](const AxisRef &axis) {
    return !sharesOf(axis, mesh).empty();
  });
}

int64_t totalShares(llvm::ArrayRef<AxisRef> axes, const Mesh &mesh) {
  int64_t total = 1;
  for (const AxisRef &axis : mergeSubAxes(axes))
    total *= totalOf(axis, sharesOf(axis, mesh));
  return total;
}

llvm::SmallVector<int64_t> boundsOf(llvm::ArrayRef<AxisRef> axes,
                                    const Mesh &mesh) {
  llvm::SmallVector<int64_t> bounds{0, 1};
  for (const AxisRef &axis : mergeSubAxes(axes)) {
    llvm::SmallVector<int64_t, 2> shares = sharesOf(axis, mesh);
    if (shares.empty())
      shares.assign(axis.size, 1);
    const int64_t total = totalOf(axis, shares);
    llvm::SmallVector<int64_t> finer{0};
    for (size_t way = 0; way + 1 < bounds.size(); ++way)
      for (int64_t share : shares)
        finer.push_back(finer.back() + share * (bounds[way + 1] - bounds[way]));
    assert(finer.back() == bounds.back() * total && "parts are the whole");
    (void)total;
    bounds = std::move(finer);
  }
  return bounds;
}

} // namespace shardc::dist
