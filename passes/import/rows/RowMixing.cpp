//===- RowMixing.cpp - Whether an op computes each position by itself -----===//
//
// Its sharding rule says so: along new positions and keys it may be split in any
// way, and element i of the result is made of element i of an operand.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/rows/RowTranslation.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;

/// A number that the sizes of the request say.
bool RowTranslation::readsSizes(Operation *op) const {
  auto values = isa<SymbolsOp>(op)
                    ? op->getAttrOfType<dist::DimsAttr>("values")
                    : op->getAttrOfType<dist::DimsAttr>("bounds");
  return values && llvm::any_of(values.getValues(), [&](DimExpr value) {
           return sizes.isOfKeys(value) ||
                  sizes.mentions(value, sizes.sequence) ||
                  sizes.mentions(value, sizes.batch);
         });
}

/// The number of the factor that a dim counts by, if it is the only one that
/// does and the dim is not made of several parts.
static std::optional<unsigned>
countingFactor(const ShardingRule &rule, const RuleDim &dim,
               llvm::function_ref<bool(DimExpr)> isCounted) {
  std::optional<unsigned> found;
  for (const auto &segment : dim.segments)
    for (unsigned factor : segment)
      if (isCounted(rule.factors[factor].size)) {
        if (found || dim.segments.size() > 1)
          return std::nullopt;
        found = factor;
      }
  return found;
}

/// Whether dims that are counted count them before all else that they are merged
/// of: where there are more of them, all others stay where they are.
bool RowTranslation::countsFirst(
    const ShardingRule &rule,
    llvm::function_ref<bool(DimExpr)> isCounted) const {
  auto isFirst = [&](const RuleDim &dim) {
    for (const auto &segment : dim.segments)
      for (auto [i, factor] : llvm::enumerate(segment))
        if (isCounted(rule.factors[factor].size))
          return llvm::all_of(
              ArrayRef<unsigned>(segment).take_front(i), [&](unsigned before) {
                const DimExpr size = rule.factors[before].size;
                return size == sizes.batch || size.isConstant(1);
              });
    return true;
  };
  for (const auto *tensors : {&rule.operands, &rule.results})
    for (const RuleTensor &tensor : *tensors)
      if (!llvm::all_of(tensor, isFirst))
        return false;
  return true;
}

/// A divisor of a key that a row does not have may be 0.
bool RowTranslation::dividesByKeys(Operation *op) const {
  return isa<DivOp, ModOp>(op) &&
         isa<IntegerType>(elementOf(op->getResult(0))) &&
         llvm::any_of(dimsOf(op->getOperand(1)),
                      [&](DimExpr dim) { return sizes.isOfKeys(dim); });
}

/// Each dim of a result that is counted is, as a whole and from its first
/// element on, that of an operand: element i is made of element i. That a dim may
/// be split does not say so: of a Slice and of a Concat the parts may.
bool RowTranslation::keepsOrder(
    const ShardingRule &rule, Operation *op,
    llvm::function_ref<bool(DimExpr)> isCounted) const {
  for (auto [result, dims] : llvm::zip(op->getResults(), rule.results))
    for (auto [size, dim] : llvm::zip(dist::getDims(result.getType()), dims)) {
      if (!isCounted(size))
        continue;
      const auto factor = countingFactor(rule, dim, isCounted);
      bool isThere = false;
      for (const RuleTensor &operand : rule.operands)
        for (const RuleDim &from : operand)
          isThere |= factor && countingFactor(rule, from, isCounted) == factor;
      if (!isThere)
        return false;
    }
  return true;
}

/// Dims of the sequence and of keys are free, and stay what they are; a reduction
/// of keys leaves out those that a row does not have.
std::string RowTranslation::findMixing(Operation *op, bool reducesKeys) const {
  return findMixing(op, reducesKeys, /*hasAll=*/false);
}

std::string RowTranslation::findMixingOfKeys(Operation *op) const {
  return findMixing(op, /*reducesKeys=*/false, /*hasAll=*/true);
}

std::string RowTranslation::findMixing(Operation *op, bool reducesKeys,
                                       bool hasAll) const {
  auto onnxOp = dyn_cast<OnnxOp>(op);
  if (!onnxOp)
    return isa<NoneOp>(op) ? "" : "it has no rule that says what it reads";
  const ShardingRule rule = onnxOp.shardingRule();
  const auto isOfTokens = [&](DimExpr d) {
    return !hasAll && sizes.isOfTokens(d);
  };
  const auto isOfKeys = [&](DimExpr d) { return sizes.isOfKeys(d); };
  // Of an Expand all elements along a new dim are one.
  if (!isa<ExpandOp>(op) && !keepsOrder(rule, op, isOfTokens))
    return "its result does not have one position for each of its operand's";
  if (!isa<ExpandOp>(op) && !keepsOrder(rule, op, isOfKeys))
    return "its result does not have one key for each of its operand's";
  if (!countsFirst(rule, isOfTokens) || !countsFirst(rule, isOfKeys))
    return "its dims count positions behind something else";
  if (dividesByKeys(op))
    return "it divides by what a key is, and a row may have no such key";
  for (const RuleFactor &factor : rule.factors) {
    const bool isOfBatch = !hasAll && sizes.batch.asSymbol() &&
                           sizes.mentions(factor.size, sizes.batch);
    if (!isOfBatch && !isOfTokens(factor.size) && !isOfKeys(factor.size))
      continue;
    if (reducesKeys && isOfKeys(factor.size))
      continue;
    if (factor.factorClass != FactorClass::PassThrough ||
        factor.rankParts != RankParts::Any)
      return isOfTokens(factor.size) ? "it mixes positions of the sequence"
             : isOfKeys(factor.size) ? "it mixes positions of the keys"
                                     : "it mixes rows of the batch";
  }
  if (readsSizes(op))
    return "it reads sizes of the request";
  return "";
}

} // namespace shardc::import
