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
  for (Operation &op : function.front())
    if (auto onnxOp = dyn_cast<OnnxOp>(op); onnxOp && !apart.contains(&op)) {
      ruled.push_back({&op, onnxOp.shardingRule(), count});
      count += ruled.back().rule.factors.size();
    }
  classes.grow(count);
  for (const Ruled &each : ruled)
    joinFactors(each);
}

unsigned PlaceDims::numberOf(Value value, int64_t dim) const {
  return first.lookup(value) + unsigned(dim);
}

void PlaceDims::joinFactors(const Ruled &of) {
  auto join = [&](ValueRange values, ArrayRef<RuleTensor> tensors) {
    for (auto [value, tensor] : llvm::zip(values, tensors))
      for (auto [d, dim] : llvm::enumerate(tensor))
        if (dim.segments.size() == 1 && dim.segments[0].size() == 1)
          classes.join(numberOf(value, int64_t(d)),
                       of.first + dim.segments[0][0]);
  };
  join(of.op->getOperands(), of.rule.operands);
  join(of.op->getResults(), of.rule.results);
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
  for (const Ruled &each : ruled)
    for (auto [number, factor] : llvm::enumerate(each.rule.factors))
      if (factor.factorClass == FactorClass::Reduce &&
          isOfPlaces(each, unsigned(number)))
        joining.insert(each.op);
}

bool PlaceDims::isOfPlaces(const Ruled &of, unsigned factor) const {
  return ofPlaces.contains(classes[of.first + factor]);
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
PlaceDims::Problem PlaceDims::problemOf(const Ruled &of) const {
  for (const auto *tensors : {&of.rule.operands, &of.rule.results})
    for (const RuleTensor &tensor : *tensors)
      for (const RuleDim &dim : tensor)
        for (const auto &segment : dim.segments)
          if (dim.segments.size() * segment.size() > 1 &&
              llvm::any_of(segment,
                           [&](unsigned f) { return isOfPlaces(of, f); }))
            return {of.op, "it counts places of a cache and something else in "
                           "one dim"};
  if (isa<AttentionOp, RangeOp, ConstantOp>(of.op))
    return {};
  for (auto [number, factor] : llvm::enumerate(of.rule.factors))
    if (isOfPlaces(of, unsigned(number)) &&
        (factor.factorClass == FactorClass::NeedsReplication ||
         factor.factorClass == FactorClass::Lookup))
      return {of.op, "what it computes is made of several places of a cache, "
                     "or of chosen ones"};
  return {};
}

PlaceDims::Problem PlaceDims::findProblem() const {
  for (const Ruled &each : ruled)
    if (Problem problem = problemOf(each); problem.op)
      return problem;
  for (Operation &op : function.front())
    if (op.getNumRegions() > 0 &&
        llvm::any_of(op.getOperands(),
                     [&](Value value) { return hasPlaces(value); }))
      return {&op, "it branches on places of a cache"};
  return {};
}

} // namespace shardc::import
