//===- Graph.cpp - A program as planning sees it --------------------------===//

#include "passes/plan/Graph.h"

namespace shardc::plan {

using dist::DimExpr;
using llvm::ArrayRef;
using llvm::SmallVector;
using onnx::FactorClass;

const OpLeaf *GraphOp::find(FactorNode leaf) const {
  auto it = llvm::lower_bound(
      leaves, leaf, [](const OpLeaf &l, FactorNode n) { return l.leaf < n; });
  return it != leaves.end() && it->leaf == leaf ? &*it : nullptr;
}

double Graph::evaluate(DimExpr size) const {
  std::optional<int64_t> value =
      size.evaluate([&](llvm::StringRef name, bool) -> std::optional<int64_t> {
        return nominal(name);
      });
  return value ? static_cast<double>(*value) : 1;
}

ArrayRef<unsigned> Graph::opsWith(FactorNode leaf) const {
  auto it = opsOfLeaf.find(leaf);
  return it != opsOfLeaf.end() ? ArrayRef<unsigned>(it->second)
                               : ArrayRef<unsigned>();
}

unsigned Graph::addValue(ArrayRef<DimExpr> sizes, int64_t bits) {
  GraphValue &value = values.emplace_back();
  value.sizes.assign(sizes.begin(), sizes.end());
  value.bits = bits;
  value.elements = 1;
  for (DimExpr size : sizes) {
    value.dims.push_back(space.leaf(size));
    value.elements *= evaluate(size);
  }
  return values.size() - 1;
}

/// An operand of a product: one of the first two, or whatever is summed over.
static bool isMatrix(const onnx::ShardingRule &rule, unsigned operand) {
  if (operand < 2)
    return true;
  for (const onnx::RuleDim &dim : rule.operands[operand])
    for (ArrayRef<unsigned> segment : dim.segments)
      for (unsigned factor : segment)
        if (rule.factors[factor].factorClass == FactorClass::Reduce ||
            rule.factors[factor].isExperts)
          return true;
  return false;
}

/// Whether data chooses single rows or columns of a matrix, as an embedding
/// does: they are no matrix, but matrices of experts that it chooses are.
static bool choosesRows(const onnx::ShardingRule &rule) {
  if (rule.operands.empty())
    return false;
  unsigned kept = 0;
  for (const onnx::RuleDim &dim : rule.operands[0])
    for (ArrayRef<unsigned> segment : dim.segments)
      for (unsigned factor : segment)
        kept += rule.factors[factor].factorClass == FactorClass::PassThrough;
  return kept < 2;
}

/// Whether the results are elements of the model's matrices.
bool Graph::movesWeight(const GraphOp &op, bool isLoadTime) const {
  auto isWeight = [&](unsigned value) {
    return value != kNoValue && values[value].isWeightDerived;
  };
  if (op.kind == OpKind::Weight)
    return values[op.resultValues[0]].sizes.size() >= 2;
  // Matrices behind each other, as those of experts.
  if (op.partialRule == onnx::PartialRule::MovesAll)
    return isLoadTime && llvm::any_of(op.operandValues, isWeight);
  if (op.operandValues.empty() || !isWeight(op.operandValues[0]))
    return false;
  // So does what computes its elements one by one, from others of the model:
  // dequantisation, a cast.
  const bool isElementwise =
      isLoadTime && op.resultValues.size() == 1 &&
      values[op.resultValues[0]].sizes == values[op.operandValues[0]].sizes;
  return op.partialRule == onnx::PartialRule::Moves || isElementwise;
}

void Graph::addOp(GraphOp op, const onnx::ShardingRule &rule) {
  const unsigned number = ops.size();
  bool isLoadTime = true;
  for (auto [i, value] : llvm::enumerate(op.operandValues)) {
    if (value == kNoValue)
      continue;
    values[value].consumers.push_back(number);
    isLoadTime &= values[value].isLoadTime;
    if (values[value].isWeightDerived && isMatrix(rule, i))
      op.matrices.push_back(i);
  }
  const bool moves =
      movesWeight(op, isLoadTime) && (isLoadTime || !choosesRows(rule));
  const bool isDequantized =
      op.kind == OpKind::Dequantize ||
      (moves && !op.operandValues.empty() && op.operandValues[0] != kNoValue &&
       values[op.operandValues[0]].isDequantized);
  for (unsigned value : op.resultValues) {
    values[value].producer = number;
    values[value].isWeightDerived = moves;
    values[value].isDequantized = isLoadTime && isDequantized;
    values[value].isLoadTime = isLoadTime;
  }
  op.multiplyAdds = evaluate(op.work);
  op.usesWeight = !op.matrices.empty() && op.multiplyAdds > 0;
  ops.push_back(std::move(op));
  tieDims(ops.back(), rule);
}

void Graph::markReturned(unsigned value, bool isCache) {
  values[value].isReturned = true;
  values[value].isCache |= isCache;
}

/// A vector or scalar of the model may be split differently for each use, which
/// costs nothing; tying its uses would tie what has nothing to do with each
/// other (a vector of ones that an exporter shares).
bool Graph::isSplitPerUse(unsigned value) const {
  const unsigned producer = values[value].producer;
  return producer != kNoValue &&
         (ops[producer].kind == OpKind::Weight ||
          ops[producer].kind == OpKind::Constant) &&
         values[value].sizes.size() <= 1;
}

/// Factors that an op needs whole and that are gone in its results (the keys of
/// attention). How the operand is split elsewhere says nothing about this op,
/// and tying it would: queries and keys are often the same sequence.
static llvm::SmallDenseSet<unsigned>
consumedWhole(const onnx::ShardingRule &rule) {
  llvm::SmallDenseSet<unsigned> consumed;
  for (auto [number, factor] : llvm::enumerate(rule.factors))
    if (factor.factorClass == FactorClass::NeedsReplication)
      consumed.insert(number);
  for (const onnx::RuleTensor &result : rule.results)
    for (const onnx::RuleDim &dim : result)
      for (ArrayRef<unsigned> segment : dim.segments)
        for (unsigned factor : segment)
          consumed.erase(factor);
  return consumed;
}

void Graph::tieDims(GraphOp &op, const onnx::ShardingRule &rule) {
  llvm::SmallDenseSet<unsigned> consumed = consumedWhole(rule);
  auto isConsumed = [&](const onnx::RuleDim &dim) {
    return llvm::all_of(dim.segments, [&](ArrayRef<unsigned> segment) {
      return llvm::all_of(
          segment, [&](unsigned factor) { return consumed.contains(factor); });
    });
  };
  auto &factors = ruleFactors.emplace_back();
  for (const onnx::RuleFactor &factor : rule.factors)
    factors.emplace_back(space.leaf(factor.size), factor);
  auto needWhole = [&](const onnx::RuleDim &dim) {
    for (ArrayRef<unsigned> segment : dim.segments)
      for (unsigned factor : segment)
        factors[factor].second.factorClass = FactorClass::NeedsReplication;
  };
  auto tie = [&](const onnx::RuleTensor &tensor, unsigned value,
                 DimNodes &nodes) {
    if (value == kNoValue)
      return;
    const bool perUse = isSplitPerUse(value);
    for (auto [d, dim] : llvm::enumerate(tensor)) {
      if (dim.segments.size() > FactorSpace::kMaxSegments) {
        nodes.push_back(space.leaf(values[value].sizes[d]));
        needWhole(dim);
        continue;
      }
      SmallVector<FactorNode, 4> segments;
      for (ArrayRef<unsigned> segment : dim.segments) {
        SmallVector<FactorNode, 4> children;
        for (unsigned factor : segment)
          children.push_back(factors[factor].first);
        segments.push_back(space.product(children));
      }
      nodes.push_back(segments.empty() ? space.leaf(1)
                                       : space.concat(segments));
      if (segments.empty() || perUse || isConsumed(dim) ||
          space.unify(values[value].dims[d], nodes.back()))
        continue;
      needWhole(dim); // there is no common factorisation
    }
  };
  for (auto [tensor, value] : llvm::zip(rule.operands, op.operandValues))
    tie(tensor, value, op.operands.emplace_back());
  for (auto [tensor, value] : llvm::zip(rule.results, op.resultValues))
    tie(tensor, value, op.results.emplace_back());
  op.operands.resize(op.operandValues.size());
  op.results.resize(op.resultValues.size());
}

/// Leaves that two dims of a tensor have in common (queries and keys over one
/// sequence), or two factors of a product (windows of as many elements as there
/// are windows): splitting one would split both, and leave the diagonal only.
/// The segments of one dim may well share a leaf: packed q | k | v are split
/// alike.
llvm::DenseSet<FactorNode> Graph::leavesUsedTwice(const GraphOp &op) const {
  llvm::DenseSet<FactorNode> twice;
  for (const auto *tensors : {&op.operands, &op.results})
    for (const DimNodes &dims : *tensors) {
      llvm::DenseSet<FactorNode> others;
      for (FactorNode dim : dims) {
        llvm::DenseSet<FactorNode> here;
        for (FactorNode segment : space.segments(dim)) {
          llvm::DenseSet<FactorNode> factors;
          space.forEachLeaf(segment, [&](FactorNode leaf, bool) {
            if (others.contains(leaf) || !factors.insert(leaf).second)
              twice.insert(leaf);
            here.insert(leaf);
          });
        }
        others.insert(here.begin(), here.end());
      }
    }
  return twice;
}

/// A sum over a dim of which each rank would hold some segments whole: all of
/// them would add those.
bool Graph::isSummedInPart(FactorNode dim, const onnx::RuleFactor &factor,
                           FactorNode leaf) const {
  bool isSum = factor.factorClass == FactorClass::Lookup ||
               (factor.factorClass == FactorClass::Reduce &&
                factor.reduceKind == dist::ReduceKind::Sum);
  return isSum && llvm::any_of(space.segments(dim), [&](FactorNode segment) {
           return !space.holds(segment, leaf);
         });
}

void Graph::finish() {
  llvm::DenseSet<FactorNode> buried;
  findWeightLeaves(buried);
  for (unsigned number = 0; number < ops.size(); ++number)
    collectLeaves(number, buried);
  ruleFactors.clear();
  weighProducts();
}

void Graph::findWeightLeaves(llvm::DenseSet<FactorNode> &buried) {
  for (const GraphValue &value : values) {
    const bool isMatrix = value.producer != kNoValue &&
                          ops[value.producer].kind == OpKind::Weight &&
                          value.dims.size() >= 2;
    for (FactorNode dim : value.dims)
      space.forEachLeaf(dim, [&](FactorNode leaf, bool isBuried) {
        if (isBuried)
          buried.insert(leaf);
        if (isMatrix)
          weightLeaves.insert(leaf);
      });
  }
}

void Graph::collectLeaves(unsigned number,
                          const llvm::DenseSet<FactorNode> &buried) {
  GraphOp &op = ops[number];
  // Which part of it a rank holds is known before there is an input.
  const bool isSource =
      op.kind == OpKind::Weight || op.kind == OpKind::Constant;
  for (auto &[node, factor] : ruleFactors[number])
    space.forEachLeaf(node, [&, node = node, &factor = factor](FactorNode leaf,
                                                               bool isBuried) {
      FactorClass factorClass = factor.factorClass;
      if (isBuried || buried.contains(leaf) ||
          (isSource && space.size(leaf).isSymbolic()) ||
          isSummedInPart(node, factor, leaf))
        factorClass = FactorClass::NeedsReplication;
      op.leaves.push_back({leaf, factorClass, factor.reduceKind,
                           factor.isExperts, factor.rankParts});
    });
  llvm::stable_sort(op.leaves, [](const OpLeaf &a, const OpLeaf &b) {
    return a.leaf < b.leaf;
  });
  llvm::DenseSet<FactorNode> twice = leavesUsedTwice(op);
  SmallVector<OpLeaf, 6> unique;
  for (const OpLeaf &leaf : op.leaves) {
    bool isNew = unique.empty() || unique.back().leaf != leaf.leaf;
    if (isNew)
      unique.push_back(leaf);
    if (twice.contains(leaf.leaf) ||
        unique.back().factorClass != leaf.factorClass)
      unique.back().factorClass = FactorClass::NeedsReplication;
  }
  op.leaves = unique;
  for (const OpLeaf &leaf : op.leaves)
    opsOfLeaf[leaf.leaf].push_back(number);
}

void Graph::weighProducts() {
  double products = 0;
  for (GraphOp &op : ops) {
    if (op.usesWeight) {
      meanProduct += op.multiplyAdds * op.count;
      products += op.count;
    }
    bool isLookup = llvm::any_of(op.leaves, [](const OpLeaf &leaf) {
      return leaf.factorClass == FactorClass::Lookup;
    });
    if (isLookup && values[op.operandValues[0]].isWeightDerived) {
      const GraphValue &table = values[op.operandValues[0]];
      double rows = std::max(1.0, evaluate(space.size(table.dims[0])));
      op.lookupMultiplyAdds = values[op.resultValues[0]].elements * rows;
    }
  }
  meanProduct /= std::max(1.0, products);
}

} // namespace shardc::plan
