//===- ShardingGraph.cpp - A function's ops and dims ----------------------===//

#include "passes/shard/ShardingGraph.h"

#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Source.h"

using namespace mlir;

namespace shardc::shard {

using dist::AxisRef;
using dist::DimExpr;
using onnx::FactorClass;
using onnx::OnnxOp;

const OpLeaf *GraphOp::find(FactorNode leaf) const {
  auto it = llvm::lower_bound(
      leaves, leaf, [](const OpLeaf &l, FactorNode n) { return l.leaf < n; });
  return it != leaves.end() && it->leaf == leaf ? &*it : nullptr;
}

double ShardingGraph::evaluate(DimExpr size) const {
  std::optional<int64_t> value =
      size.evaluate([&](StringRef name, bool) -> std::optional<int64_t> {
        return nominal(name);
      });
  return value ? static_cast<double>(*value) : 1;
}

bool overlapsAny(ArrayRef<AxisRef> axes, const AxisRef &axis) {
  return llvm::any_of(
      axes, [&](const AxisRef &other) { return other.overlaps(axis); });
}

bool GraphOp::uses(ArrayRef<AxisRef> axes) const {
  auto isUsed = [&](const AxisRef &used) { return overlapsAny(axes, used); };
  return llvm::any_of(carried, isUsed) ||
         llvm::any_of(splits, [&](const LeafSplit &split) {
           return llvm::any_of(split.axes, isUsed);
         });
}

void GraphOp::split(FactorNode leaf, ArrayRef<AxisRef> axes) {
  for (LeafSplit &known : splits)
    if (known.leaf == leaf)
      return void(known.axes.append(axes.begin(), axes.end()));
  splits.push_back({leaf, AxisList(axes)});
}

ShardingGraph::ShardingGraph(func::FuncOp function,
                             std::function<int64_t(StringRef)> nominal)
    : nominal(std::move(nominal)) {
  for (Value argument : function.getArguments())
    valueNumber(argument);
  for (Operation &op : function.getOps()) {
    if (auto onnxOp = dyn_cast<OnnxOp>(op))
      addOp(onnxOp);
    else if (!isa<onnx::NoneOp, onnx::GuardOp, func::ReturnOp>(op))
      op.emitWarning("has no sharding rule: it runs whole on every rank");
  }
  collectLeaves();
  collectUses(function);
}

unsigned ShardingGraph::valueNumber(Value value) {
  auto [it, isNew] = numbers.try_emplace(value, values.size());
  if (!isNew)
    return it->second;
  GraphValue &graphValue = values.emplace_back();
  graphValue.value = value;
  graphValue.elements = 1;
  for (DimExpr size : dist::getDims(value.getType())) {
    graphValue.dims.push_back(space.leaf(size));
    graphValue.elements *= evaluate(size);
  }
  return it->second;
}

/// A vector or scalar of the model may be split differently for each use, which
/// costs nothing; tying its uses would tie what has nothing to do with each
/// other (a vector of ones that an exporter shares).
static bool isSplitPerUse(Value value) {
  Operation *source = value.getDefiningOp();
  return source &&
         isa<onnx::WeightOp, onnx::ConstantOp, onnx::SymbolsOp>(source) &&
         cast<RankedTensorType>(value.getType()).getRank() <= 1;
}

/// An operand of a product: one of the first two, or whatever is summed over.
static bool isMatrix(const onnx::ShardingRule &rule, unsigned operand) {
  if (operand < 2)
    return true;
  for (const onnx::RuleDim &dim : rule.operands[operand])
    for (ArrayRef<unsigned> segment : dim.segments)
      for (unsigned factor : segment)
        if (rule.factors[factor].factorClass == onnx::FactorClass::Reduce)
          return true;
  return false;
}

void ShardingGraph::addOp(OnnxOp op) {
  GraphOp &graphOp = ops.emplace_back();
  graphOp.op = op;
  graphOp.partialRule = op.partialRule();
  unsigned number = ops.size() - 1;
  onnx::ShardingRule rule = op.shardingRule();
  bool movesWeight =
      isa<onnx::WeightOp>(op) &&
      cast<RankedTensorType>(op->getResult(0).getType()).getRank() >= 2;
  bool isLoadTime = true;
  for (OpOperand &operand : op->getOpOperands()) {
    bool takesPart = isa<RankedTensorType>(operand.get().getType());
    unsigned value = takesPart ? valueNumber(operand.get()) : kNoValue;
    graphOp.operandValues.push_back(value);
    if (!takesPart)
      continue;
    values[value].consumers.push_back(number);
    isLoadTime &= values[value].isLoadTime;
    if (operand.getOperandNumber() == 0 && values[value].isWeightDerived &&
        graphOp.partialRule == onnx::PartialRule::Moves)
      movesWeight = true;
    if (values[value].isWeightDerived &&
        isMatrix(rule, operand.getOperandNumber()))
      graphOp.matrices.push_back(operand.getOperandNumber());
  }
  // So does what computes its elements one by one, from others of the model:
  // dequantisation, a cast.
  if (isLoadTime && op->getNumOperands() > 0 && op->getNumResults() == 1 &&
      graphOp.operandValues[0] != kNoValue &&
      values[graphOp.operandValues[0]].isWeightDerived &&
      dist::getDims(op->getResult(0).getType()) ==
          dist::getDims(op->getOperand(0).getType()))
    movesWeight = true;
  // Matrices behind each other, as those of experts.
  if (graphOp.partialRule == onnx::PartialRule::MovesAll)
    movesWeight =
        isLoadTime && llvm::any_of(graphOp.operandValues, [&](unsigned value) {
          return value != kNoValue && values[value].isWeightDerived;
        });
  for (Value result : op->getResults()) {
    unsigned value = valueNumber(result);
    graphOp.resultValues.push_back(value);
    values[value].producer = number;
    values[value].isWeightDerived = movesWeight;
    values[value].isLoadTime = isLoadTime;
  }
  graphOp.multiplyAdds = evaluate(op.multiplyAdds());
  graphOp.usesWeight = !graphOp.matrices.empty() && graphOp.multiplyAdds > 0;
  tieDims(graphOp, rule);
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

void ShardingGraph::tieDims(GraphOp &graphOp, const onnx::ShardingRule &rule) {
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
    bool perUse = isSplitPerUse(values[value].value);
    for (auto [d, dim] : llvm::enumerate(tensor)) {
      if (dim.segments.size() > FactorSpace::kMaxSegments) {
        nodes.push_back(
            space.leaf(dist::getDims(values[value].value.getType())[d]));
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
  for (auto [tensor, value] : llvm::zip(rule.operands, graphOp.operandValues))
    tie(tensor, value, graphOp.operands.emplace_back());
  for (auto [tensor, value] : llvm::zip(rule.results, graphOp.resultValues))
    tie(tensor, value, graphOp.results.emplace_back());
  graphOp.operands.resize(graphOp.operandValues.size());
  graphOp.results.resize(graphOp.resultValues.size());
}

/// Leaves that two dims of a tensor have in common (queries and keys over one
/// sequence), or two factors of a product (windows of as many elements as there
/// are windows): splitting one would split both, and leave the diagonal only.
/// The segments of one dim may well share a leaf: packed q | k | v are split
/// alike.
llvm::DenseSet<FactorNode> ShardingGraph::leavesUsedTwice(const GraphOp &op) {
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
bool ShardingGraph::isSummedInPart(FactorNode dim,
                                   const onnx::RuleFactor &factor,
                                   FactorNode leaf) {
  bool isSum = factor.factorClass == FactorClass::Lookup ||
               (factor.factorClass == FactorClass::Reduce &&
                factor.reduceKind == dist::ReduceKind::Sum);
  return isSum && llvm::any_of(space.segments(dim), [&](FactorNode segment) {
           return !space.holds(segment, leaf);
         });
}

void ShardingGraph::collectLeaves() {
  llvm::DenseSet<FactorNode> buried;
  for (const GraphValue &value : values) {
    bool isMatrix =
        value.value.getDefiningOp<onnx::WeightOp>() && value.dims.size() >= 2;
    for (FactorNode dim : value.dims)
      space.forEachLeaf(dim, [&](FactorNode leaf, bool isBuried) {
        if (isBuried)
          buried.insert(leaf);
        if (isMatrix)
          weightLeaves.insert(leaf);
      });
  }
  for (auto [number, op] : llvm::enumerate(ops)) {
    for (auto &[node, factor] : ruleFactors[number])
      space.forEachLeaf(node, [&, node = node, &factor = factor](
                                  FactorNode leaf, bool isBuried) {
        FactorClass factorClass = factor.factorClass;
        if (isBuried || buried.contains(leaf) ||
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
  ruleFactors.clear();
}

void ShardingGraph::collectUses(func::FuncOp function) {
  for (OpOperand &output : function.front().getTerminator()->getOpOperands())
    if (auto it = numbers.find(output.get()); it != numbers.end()) {
      values[it->second].isReturned = true;
      values[it->second].isCache |= onnx::FunctionInfo(function)
                                        .cache(output.getOperandNumber())
                                        .has_value();
    }
  unsigned products = 0;
  for (GraphOp &op : ops) {
    if (op.usesWeight) {
      meanProduct += op.multiplyAdds;
      ++products;
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
  meanProduct /= std::max(1u, products);
}

dist::Sharding ShardingGraph::sharding(const GraphOp &op, const DimNodes &dims,
                                       Value value) {
  dist::Sharding sharding =
      dist::Sharding::replicated(dist::getDims(value.getType()));
  for (auto [d, node] : llvm::enumerate(dims)) {
    dist::DimSharding dim =
        space.sharding(node, [&](FactorNode leaf) -> ArrayRef<AxisRef> {
          for (const LeafSplit &split : op.splits)
            if (split.leaf == leaf)
              return split.axes;
          return {};
        });
    for (const LeafSplit &split : op.splits)
      if (split.isZigZag && space.find(node) == split.leaf)
        dim = dist::DimSharding::zigZag(space.size(node), split.axes);
    // A broadcast dim has a node of its own, of size 1.
    if (dim.isSplit())
      sharding.dims[d] = dim;
  }
  for (const AxisRef &axis : op.carried)
    sharding.partial.push_back({axis, dist::ReduceKind::Sum});
  return sharding;
}

dist::Sharding ShardingGraph::operandSharding(const GraphOp &op, unsigned i) {
  Value value = op.op->getOperand(i);
  dist::Sharding wanted = sharding(op, op.operands[i], value);
  switch (op.partialRule) {
  case onnx::PartialRule::Affine:
    // The addend is partial exactly where the product is.
    if (i == 2)
      wanted.partial = resultSharding(op, 0).partial;
    break;
  case onnx::PartialRule::Additive:
  case onnx::PartialRule::MovesAll:
    break;
  default:
    if (i > 0)
      wanted.partial.clear();
    break;
  }
  wanted.normalize();
  return wanted;
}

dist::Sharding ShardingGraph::resultSharding(const GraphOp &op, unsigned i) {
  dist::Sharding given = sharding(op, op.results[i], op.op->getResult(i));
  for (const LeafSplit &split : op.splits) {
    const OpLeaf *leaf = op.find(split.leaf);
    if (leaf->factorClass != FactorClass::Reduce &&
        leaf->factorClass != FactorClass::Lookup)
      continue;
    for (const AxisRef &axis : split.axes)
      given.partial.push_back({axis, leaf->reduceKind});
  }
  given.normalize();
  return given;
}

bool isSplitInPart(const dist::Sharding &sharding) {
  return llvm::any_of(sharding.dims, [](const dist::DimSharding &dim) {
    return dim.isSplit() &&
           !llvm::all_of(dim.segments, [](const dist::Segment &segment) {
             return segment.isSplit();
           });
  });
}

} // namespace shardc::shard
