//===- Sizes.cpp - Dims of a request as numbers ---------------------------===//

#include "passes/plan/cost/Sizes.h"

#include "dialects/dist/algebra/DeviceWays.h"

#include <cmath>

namespace shardc::plan {

using dist::DimExpr;

double Sizes::of(DimExpr size) const {
  auto [entry, isNew] = known.try_emplace(size.opaque(), 1);
  if (!isNew)
    return entry->second;
  const std::optional<int64_t> value =
      size.evaluate([&](llvm::StringRef name, bool) -> std::optional<int64_t> {
        auto it = given.find(name);
        return it == given.end() ? nominal : it->second;
      });
  return entry->second = value ? std::max<double>(0, double(*value)) : 1;
}

double Sizes::elements(llvm::ArrayRef<DimExpr> dims) const {
  double elements = 1;
  for (DimExpr dim : dims)
    elements *= of(dim);
  return elements;
}

double Sizes::largestPart(double elements,
                          llvm::ArrayRef<dist::AxisRef> axes) const {
  if (!mesh || !dist::hasShares(axes, *mesh))
    return std::ceil(elements / double(dist::numWays(axes)));
  const llvm::SmallVector<int64_t> bounds = dist::boundsOf(axes, *mesh);
  int64_t share = 0;
  if (rank) {
    const int64_t way = dist::wayOf(*rank, axes, *mesh);
    share = bounds[way + 1] - bounds[way];
  } else {
    for (size_t way = 0; way + 1 < bounds.size(); ++way)
      share = std::max(share, bounds[way + 1] - bounds[way]);
  }
  constexpr double kRounding = 1e-9;
  return std::ceil(elements * double(share) / double(bounds.back()) -
                   kRounding);
}

void Sizes::onRank(const dist::Mesh &of, std::optional<int64_t> which) {
  mesh = &of;
  rank = which;
}

double Sizes::largestPart(const dist::DimSharding &dim) const {
  double elements = 0;
  for (const dist::Segment &segment : dim.segments) {
    double part = 1;
    for (const dist::Factor &factor : segment.factors)
      part *= largestPart(of(factor.size), factor.axes);
    elements += part;
  }
  return elements;
}

double Sizes::largestPart(const dist::Sharding &sharding) const {
  double elements = 1;
  for (const dist::DimSharding &dim : sharding.dims)
    elements *= largestPart(dim);
  return elements;
}

void Sizes::set(llvm::StringRef symbol, int64_t size) {
  given[symbol] = size;
  known.clear();
}

std::string parseSizes(llvm::ArrayRef<std::string> entries,
                       llvm::StringMap<int64_t> &sizes) {
  for (llvm::StringRef entry : entries) {
    auto [name, text] = entry.rsplit('=');
    int64_t size = 0;
    if (name.empty() || text.getAsInteger(10, size) || size < 0)
      return "has \"" + entry.str() + "\", expected NAME=SIZE";
    sizes[name] = size;
  }
  return "";
}

} // namespace shardc::plan
