#include "passes/import/rows/PlaceDims.h"

#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Source.h"

using namespace mlir;

namespace shardc::import {

using namespace onnx;

static bool isTensor(Value value) {
  return isa<RankedTensorType>(value.getType());
}

PlaceDims::PlaceDims(func::FuncOp function,
                     const llvm::DenseSet<Operation *> &apart)
    : function(function) {
  unsigned count = 0;
  auto number = [&](Value value) {
    first[value] = count;
    count += isTensor(value) ? dimsOf(value).size() : 0;
  };
  llvm::for_each(function.getArguments(), number);
  for (Operation &op : function.front())
    llvm::for_each(op.getResults(), number);
  SmallVector<Operation *> ops;
  for (Operation &op : function.front())
    if (auto onnxOp = dyn_cast<OnnxOp>(op); onnxOp && !apart.contains(&op)) {
      firstFactor[&op] = count;
      count += onnxOp.shardingRule().factors.size();
      ops.push_back(&op);
    }
  classes.grow(count);
  llvm::for_each(ops, [&](Operation *op) { joinFactors(op); });
}

unsigned PlaceDims::numberOf(Value value, int64_t dim) const {
  return first.lookup(value) + unsigned(dim);
}

void PlaceDims::joinFactors(Operation *op) {
  const ShardingRule rule = cast<OnnxOp>(op).shardingRule();
  auto join = [&](ValueRange values, ArrayRef<RuleTensor> tensors) {
    for (auto [value, tensor] : llvm::zip(values, tensors))
      for (auto [d, dim] : llvm::enumerate(tensor))
        if (dim.segments.size() == 1 && dim.segments[0].size() == 1)
          classes.join(numberOf(value, int64_t(d)),
                       firstFactor[op] + dim.segments[0][0]);
  };
  join(op->getOperands(), rule.operands);
  join(op->getResults(), rule.results);
}

void PlaceDims::add(Value value, int64_t dim) {
  roots.push_back(numberOf(value, dim));
}

void PlaceDims::close() {
  classes.compress();
  for (unsigned root : roots)
    ofPlaces.insert(classes[root]);
  for (auto attention : function.getOps<AttentionOp>())
    if (hasPlaces(attention.getKey()))
      attentions.insert(attention);
}

bool PlaceDims::isPlace(Value value, int64_t dim) const {
  return first.contains(value) &&
         ofPlaces.contains(classes[numberOf(value, dim)]);
}

bool PlaceDims::hasPlaces(Value value) const {
  for (size_t d = 0; isTensor(value) && d < dimsOf(value).size(); ++d)
    if (isPlace(value, int64_t(d)))
      return true;
  return false;
}

/// Each place by itself, or all of them in an attention or a sum.
PlaceDims::Problem PlaceDims::problemOf(Operation *op) const {
  const ShardingRule rule = cast<OnnxOp>(op).shardingRule();
  const unsigned base = firstFactor.lookup(op);
  auto isOfPlaces = [&](unsigned factor) {
    return ofPlaces.contains(classes[base + factor]);
  };
  for (const auto *tensors : {&rule.operands, &rule.results})
    for (const RuleTensor &tensor : *tensors)
      for (const RuleDim &dim : tensor)
        for (const auto &segment : dim.segments)
          if (dim.segments.size() * segment.size() > 1 &&
              llvm::any_of(segment, isOfPlaces))
            return {op, "it counts places of a cache and something else in "
                        "one dim"};
  if (isa<AttentionOp, RangeOp, ConstantOp>(op))
    return {};
  for (auto [number, factor] : llvm::enumerate(rule.factors))
    if (isOfPlaces(unsigned(number)) &&
        (factor.factorClass == FactorClass::NeedsReplication ||
         factor.factorClass == FactorClass::Lookup))
      return {op, "what it computes is made of several places of a cache, or "
                  "of chosen ones"};
  return {};
}

bool PlaceDims::attends(Operation *op) const { return attentions.contains(op); }

bool PlaceDims::joinsPlaces(Operation *op) const {
  auto base = firstFactor.find(op);
  if (base == firstFactor.end())
    return false;
  const ShardingRule rule = cast<OnnxOp>(op).shardingRule();
  for (auto [number, factor] : llvm::enumerate(rule.factors))
    if (factor.factorClass == FactorClass::Reduce &&
        ofPlaces.contains(classes[base->second + unsigned(number)]))
      return true;
  return false;
}

PlaceDims::Problem PlaceDims::findProblem() const {
  for (Operation &op : function.front()) {
    if (firstFactor.contains(&op)) {
      if (Problem problem = problemOf(&op); problem.op)
        return problem;
    } else if (op.getNumRegions() > 0 &&
               llvm::any_of(op.getOperands(),
                            [&](Value value) { return hasPlaces(value); })) {
      return {&op, "it branches on places of a cache"};
    }
  }
  return {};
}

} // namespace shardc::import
