//===- CheckRule.cpp - Do these shardings satisfy an op's rule? -----------===//

#include "passes/verify/CheckRule.h"

#include "llvm/ADT/STLExtras.h"

namespace shardc::verify {

using dist::AxisRef;
using dist::DimExpr;
using dist::DimSharding;
using dist::Factor;
using dist::PartialAxis;
using dist::Segment;
using dist::Sharding;
using onnx::FactorClass;
using onnx::ShardingRule;

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

namespace {

class RuleChecker {
public:
  RuleChecker(const ShardingRule &rule, const dist::Mesh &mesh)
      : rule(rule), mesh(mesh), found(rule.factors.size()) {}

  std::string addTensor(const onnx::RuleTensor &tensor,
                        const Sharding &sharding, const std::string &name) {
    if (tensor.empty())
      return sharding.isSplit() ? name + " takes no part in the sharding rule "
                                         "but is split"
                                : "";
    if (tensor.size() != sharding.dims.size())
      return name + " has another rank than its rule";
    for (auto [d, pattern] : llvm::enumerate(tensor)) {
      auto match =
          matchDim(sharding.dims[d], pattern, rule.factors, mesh, found);
      if (!match)
        return name + " dim " + std::to_string(d) +
               " is split where this op has no factor: " + sharding.str();
      for (auto &[factor, dim] : *match)
        if (std::string problem = record(factor, dim, name, d);
            !problem.empty())
          return problem;
    }
    return "";
  }

  /// No axis may split two factors that meet in a tensor, unless they are
  /// different segments of one dim: packed q | k | v are split alike.
  std::string checkAxes() const {
    for (const auto *tensors : {&rule.operands, &rule.results})
      for (const onnx::RuleTensor &tensor : *tensors) {
        llvm::SmallVector<AxisRef, 4> others;
        for (const onnx::RuleDim &dim : tensor) {
          llvm::SmallVector<AxisRef, 4> here;
          for (llvm::ArrayRef<unsigned> segment : dim.segments)
            if (std::string problem = addAxes(segment, others, here);
                !problem.empty())
              return problem;
          others.append(here.begin(), here.end());
        }
      }
    return "";
  }

  /// A segment of a summed dim that several ranks hold would be added by all.
  std::string checkSums() const {
    for (auto [factor, dim] : llvm::zip(rule.factors, found)) {
      bool isSum = factor.factorClass == FactorClass::Lookup ||
                   (factor.factorClass == FactorClass::Reduce &&
                    factor.reduceKind == dist::ReduceKind::Sum);
      if (!isSum || !dim || !dim->isSplit())
        continue;
      for (const Segment &segment : dim->segments)
        if (!isSplitOver(segment, dim->axes())) {
          Sharding sharding;
          sharding.dims.push_back(*dim);
          return "sums over a dim that is split in part, " + sharding.str() +
                 ": each rank would add the rest of it";
        }
    }
    return "";
  }

  /// Axes over which the op itself leaves summands.
  llvm::SmallVector<PartialAxis, 1> reduced() const {
    llvm::SmallVector<PartialAxis, 1> partial;
    for (auto [factor, dim] : llvm::zip(rule.factors, found)) {
      bool reduces = factor.factorClass == FactorClass::Reduce ||
                     factor.factorClass == FactorClass::Lookup;
      if (!reduces || !dim)
        continue;
      for (const AxisRef &axis : dim->axes())
        partial.push_back({axis, factor.factorClass == FactorClass::Lookup
                                     ? dist::ReduceKind::Sum
                                     : factor.reduceKind});
    }
    return partial;
  }

private:
  static bool isSplitOver(const Segment &segment,
                          llvm::ArrayRef<AxisRef> axes) {
    return llvm::all_of(axes, [&](const AxisRef &axis) {
      return llvm::any_of(segment.factors, [&](const Factor &factor) {
        return llvm::any_of(factor.axes, [&](const AxisRef &other) {
          return axis.overlaps(other);
        });
      });
    });
  }

  /// Adds the axes of one segment to `here`, those of the dim.
  std::string addAxes(llvm::ArrayRef<unsigned> segment,
                      llvm::ArrayRef<AxisRef> others,
                      llvm::SmallVector<AxisRef, 4> &here) const {
    llvm::SmallVector<AxisRef, 4> inSegment;
    for (unsigned factor : segment) {
      if (!found[factor])
        continue;
      llvm::SmallVector<AxisRef, 2> axes = found[factor]->axes();
      for (const AxisRef &axis : axes)
        for (llvm::ArrayRef<AxisRef> seen : {others, llvm::ArrayRef(inSegment)})
          if (llvm::any_of(seen, [&](const AxisRef &other) {
                return axis.overlaps(other);
              }))
            return "axis \"" + axis.name + "\" splits two factors at once";
      inSegment.append(axes.begin(), axes.end());
    }
    here.append(inSegment.begin(), inSegment.end());
    return "";
  }

  std::string record(unsigned factor, const DimSharding &dim,
                     const std::string &name, size_t d) {
    if (rule.factors[factor].factorClass == FactorClass::NeedsReplication &&
        dim.isSplit())
      return name + " dim " + std::to_string(d) +
             " is split, but this op needs it whole";
    const onnx::RankParts needed = rule.factors[factor].rankParts;
    if (needed == onnx::RankParts::OneRange && !dim.isOneRange())
      return name + " dim " + std::to_string(d) +
             " is split, but this op needs each rank's part in one piece";
    if (needed == onnx::RankParts::RangePerSegment && !dim.isRangePerSegment())
      return name + " dim " + std::to_string(d) +
             " is split, but this op needs each rank's part in ranges";
    if (!found[factor]) {
      found[factor] = dim;
      return "";
    }
    if (*found[factor] == dim)
      return "";
    return name + " dim " + std::to_string(d) +
           " is not split as the same factor elsewhere at this op";
  }

  const ShardingRule &rule;
  const dist::Mesh &mesh;
  llvm::SmallVector<std::optional<DimSharding>, 6> found;
};

} // namespace

/// Whether `claimed` holds what the op sums plus what its operands carry.
static std::string checkPartial(const RuleChecker &checker,
                                onnx::PartialRule partialRule,
                                llvm::ArrayRef<Sharding> operands,
                                llvm::ArrayRef<Sharding> results) {
  llvm::SmallVector<llvm::ArrayRef<PartialAxis>, 4> carried;
  for (const Sharding &operand : operands)
    carried.push_back(operand.partial);
  llvm::SmallVector<PartialAxis, 1> reduced = checker.reduced();
  // Gemm's addend is partial over what the product leaves, too.
  if (partialRule == onnx::PartialRule::Affine && operands.size() > 2 &&
      !reduced.empty()) {
    Sharding expected;
    expected.partial.assign(reduced.begin(), reduced.end());
    expected.partial.append(operands[0].partial.begin(),
                            operands[0].partial.end());
    expected.partial.append(operands[1].partial.begin(),
                            operands[1].partial.end());
    expected.normalize();
    if (operands[2].partial != expected.partial)
      return "the addend must be added once: by one rank of those that hold "
             "summands of the product";
    carried.truncate(2);
    partialRule = onnx::PartialRule::Multilinear;
  }
  auto kept = onnx::partialResult(partialRule, carried);
  if (!kept)
    return "operands may not be partial like this";
  Sharding expected;
  expected.partial.assign(kept->begin(), kept->end());
  expected.partial.append(reduced.begin(), reduced.end());
  expected.normalize();
  for (auto [i, result] : llvm::enumerate(results))
    if (result.partial != expected.partial)
      return "result " + std::to_string(i) + " must be " +
             (expected.partial.empty() ? "no partial value"
                                       : "partial: " + expected.str()) +
             ", found " + result.str();
  return "";
}

/// The first problem; the other tensors are added all the same.
static std::string addTensors(RuleChecker &checker, const ShardingRule &rule,
                              llvm::ArrayRef<Sharding> operands,
                              llvm::ArrayRef<Sharding> results) {
  std::string first;
  auto addAll = [&](llvm::ArrayRef<Sharding> tensors,
                    llvm::ArrayRef<onnx::RuleTensor> rules, const char *kind) {
    for (auto [i, tensor] : llvm::enumerate(tensors)) {
      std::string problem =
          checker.addTensor(i < rules.size() ? rules[i] : onnx::RuleTensor(),
                            tensor, kind + std::to_string(i));
      if (first.empty())
        first = problem;
    }
  };
  addAll(operands, rule.operands, "operand ");
  addAll(results, rule.results, "result ");
  return first;
}

std::string checkRule(const ShardingRule &rule, onnx::PartialRule partialRule,
                      llvm::ArrayRef<Sharding> operands,
                      llvm::ArrayRef<Sharding> results,
                      const dist::Mesh &mesh) {
  RuleChecker checker(rule, mesh);
  // A dim may be understood by what later tensors say of its factors.
  if (!addTensors(checker, rule, operands, results).empty())
    if (std::string problem = addTensors(checker, rule, operands, results);
        !problem.empty())
      return problem;
  for (const std::string &problem : {checker.checkAxes(), checker.checkSums()})
    if (!problem.empty())
      return problem;
  return checkPartial(checker, partialRule, operands, results);
}

} // namespace shardc::verify
