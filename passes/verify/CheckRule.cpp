//===- CheckRule.cpp - Do these shardings satisfy an op's rule? -----------===//

#include "passes/verify/CheckRule.h"

#include "llvm/ADT/STLExtras.h"

namespace shardc::verify {

using dist::AxisRef;
using dist::DimSharding;
using dist::Factor;
using dist::PartialAxis;
using dist::Segment;
using dist::Sharding;
using onnx::FactorClass;
using onnx::ShardingRule;

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
