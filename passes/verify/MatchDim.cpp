//===- MatchDim.cpp - How the factors of a dim are split ------------------===//

#include "passes/verify/CheckRule.h"

#include "llvm/ADT/STLExtras.h"

namespace shardc::verify {

using dist::DimExpr;
using dist::DimSharding;
using dist::Factor;
using dist::Segment;

namespace {

using Segments = llvm::SmallVector<Segment, 4>;
using Factors = llvm::SmallVector<Factor, 4>;

/// How many segments of the front have that total size, whatever the symbols
/// are; all, if they do and the last are empty.
std::optional<size_t> countSegments(const Segments &segments, DimExpr size) {
  std::optional<size_t> count;
  DimExpr total = 0;
  for (auto [i, segment] : llvm::enumerate(segments)) {
    total = total + segment.size();
    if (total == size && (!count || i + 1 == segments.size()))
      count = i + 1;
  }
  return count;
}

/// Takes segments of that total size off the front; cuts an unsplit one.
std::optional<Segments> takeSegments(Segments &from, DimExpr size) {
  Segments taken;
  // Where they end is open, [1 | sequence - 1], but for such a total.
  if (std::optional<size_t> count = countSegments(from, size)) {
    taken.assign(from.begin(), from.begin() + *count);
    from.erase(from.begin(), from.begin() + *count);
    return taken;
  }
  while (!size.isConstant(0)) {
    if (from.empty())
      return std::nullopt;
    DimExpr first = from.front().size();
    if (first == size || (size - first).isKnownNonNegative()) {
      taken.push_back(from.front());
      from.erase(from.begin());
      size = size - first;
      continue;
    }
    if (from.front().isSplit() || !(first - size).isKnownNonNegative())
      return std::nullopt;
    taken.push_back(Segment{{Factor{size, {}}}});
    from.front() = Segment{{Factor{first - size, {}}}};
    break;
  }
  return taken;
}

/// Takes these segments off the front; of an unsplit one only as much. The
/// last one has what is left, since what the rule has behind them are sizes.
bool takeEqual(Segments &from, llvm::ArrayRef<Segment> segments) {
  for (const Segment &segment : segments) {
    if (from.empty())
      return false;
    if (from.front() == segment) {
      from.erase(from.begin());
      continue;
    }
    DimExpr rest = from.front().size() - segment.size();
    if (from.front().isSplit() || segment.isSplit() ||
        !(from.size() == 1 || rest.isKnownNonNegative()))
      return false;
    from.front() = Segment{{Factor{rest, {}}}};
  }
  return true;
}

/// Segments of that total size. Where sizes do not tell how many they are, how
/// another tensor holds the same factor does:
///
///   x[:, :n - 1]   of [k:"tp"=2 | n - k], as [k:"tp"=2 | n - 1 - k]
std::optional<Segments> takeFactor(Segments &from, DimExpr size,
                                   const std::optional<DimSharding> &known) {
  Segments rest = from;
  if (std::optional<Segments> taken = takeSegments(rest, size)) {
    from = rest;
    return taken;
  }
  if (!known || !takeEqual(from, known->segments))
    return std::nullopt;
  return Segments(known->segments.begin(), known->segments.end());
}

/// The leading `size` of a factor, which then keeps the rest. An evenly split
/// factor of 8 over 2 ways is 2 over 2 ways times an unsplit 4; over ways of
/// shares 3 and 1 it is not, but 4 over them times an unsplit 2.
std::optional<Factor> cutFactor(Factor &factor, DimExpr size,
                                const dist::Mesh &mesh) {
  std::optional<DimExpr> rest = factor.size.exactDiv(size);
  if (!rest)
    return std::nullopt;
  if (factor.isSplit() && !size.exactDiv(dist::totalShares(factor.axes, mesh)))
    return std::nullopt;
  Factor head{size, factor.axes, factor.isReversed};
  factor = Factor{*rest, {}};
  return head;
}

/// Takes factors with that product off the front.
std::optional<Factors> takeFactors(Factors &from, DimExpr size,
                                   const dist::Mesh &mesh) {
  Factors taken;
  while (!size.isConstant(1)) {
    if (from.empty())
      return std::nullopt;
    if (std::optional<DimExpr> rest = size.exactDiv(from.front().size)) {
      taken.push_back(from.front());
      from.erase(from.begin());
      size = *rest;
      continue;
    }
    std::optional<Factor> head = cutFactor(from.front(), size, mesh);
    if (!head)
      return std::nullopt;
    taken.push_back(*head);
    break;
  }
  return taken;
}

DimSharding asDim(Segments segments, DimExpr size) {
  DimSharding dim;
  dim.segments.assign(segments.begin(), segments.end());
  if (dim.segments.empty())
    dim = DimSharding::unsplit(size);
  dim.normalize();
  return dim;
}

using Match = llvm::SmallVector<std::pair<unsigned, DimSharding>, 4>;

/// One segment of the pattern, several factors: the minor ones must be alike in
/// every segment of the sharding, [6 | 6 | 6] x 16.
bool matchProduct(const Segments &segments, llvm::ArrayRef<unsigned> pattern,
                  llvm::ArrayRef<onnx::RuleFactor> factors,
                  const dist::Mesh &mesh, Match &match) {
  DimExpr minor = 1;
  for (unsigned factor : pattern.drop_front())
    minor = minor * factors[factor].size;
  Segments majors;
  llvm::SmallVector<DimSharding, 4> minors;
  for (const Segment &segment : segments) {
    Factors rest(segment.factors.begin(), segment.factors.end());
    std::optional<DimExpr> major = segment.size().exactDiv(minor);
    std::optional<Factors> head;
    if (!major || !(head = takeFactors(rest, *major, mesh)))
      return false;
    majors.push_back(Segment{{head->begin(), head->end()}});
    llvm::SmallVector<DimSharding, 4> tail;
    for (unsigned factor : pattern.drop_front()) {
      std::optional<Factors> taken =
          takeFactors(rest, factors[factor].size, mesh);
      if (!taken)
        return false;
      tail.push_back(asDim({Segment{{taken->begin(), taken->end()}}},
                           factors[factor].size));
    }
    if (!minors.empty() && minors != tail)
      return false;
    minors = tail;
  }
  match.emplace_back(pattern.front(),
                     asDim(majors, factors[pattern.front()].size));
  for (auto [factor, dim] : llvm::zip(pattern.drop_front(), minors))
    match.emplace_back(factor, dim);
  return true;
}

} // namespace

std::optional<Match>
matchDim(const DimSharding &dim, const onnx::RuleDim &pattern,
         llvm::ArrayRef<onnx::RuleFactor> factors, const dist::Mesh &mesh,
         llvm::ArrayRef<std::optional<DimSharding>> known) {
  Match match;
  if (!dim.isSplit()) {
    // Whole in every factor, whatever the sizes are.
    for (llvm::ArrayRef<unsigned> segment : pattern.segments)
      for (unsigned factor : segment)
        match.emplace_back(factor, DimSharding::unsplit(factors[factor].size));
    for (auto &[factor, piece] : match)
      piece.normalize();
    return match;
  }
  if (pattern.segments.empty())
    return std::nullopt;
  Segments rest(dim.segments.begin(), dim.segments.end());
  for (llvm::ArrayRef<unsigned> segment : pattern.segments) {
    DimExpr size = 1;
    for (unsigned factor : segment)
      size = size * factors[factor].size;
    bool isKnown = segment.size() == 1 && !known.empty();
    std::optional<Segments> taken =
        takeFactor(rest, size, isKnown ? known[segment.front()] : std::nullopt);
    if (!taken)
      return std::nullopt;
    if (segment.size() == 1)
      match.emplace_back(segment.front(), asDim(*taken, size));
    else if (segment.size() > 1 && !taken->empty() &&
             !matchProduct(*taken, segment, factors, mesh, match))
      return std::nullopt;
  }
  return match;
}

} // namespace shardc::verify
