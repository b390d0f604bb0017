//===- RowTokens.cpp - Ops that compute each new position by itself -------===//

#include "dialects/onnx/ops/Layout.h"
#include "passes/import/rows/RowTranslation.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;

Value RowTranslation::ofTokens(Value value, Tokens &tokens) {
  Value &made = tokens.values[value];
  Value ofAll = all.values.lookup(value);
  if (made || &tokens == &all || !ofAll)
    return made;
  // [t * 8, 32] is [t, 8, 32] on the way.
  const size_t at = *tokenDim(value.getType());
  const Dims dims = dimsOf(ofAll);
  Dims apart = dims, chosen = dims;
  chosen[at] = *dims[at].exactDiv(all.set.size) * wanted.set.size;
  if (dims[at] != all.set.size) {
    apart[at] = all.set.size;
    apart.insert(apart.begin() + at + 1, *dims[at].exactDiv(all.set.size));
  }
  return made = rows.reshape(
             rows.gather(rows.reshape(ofAll, apart), rows.inputs.wanted, at),
             chosen);
}

/// One element along the dim of the new positions for each of them.
bool RowTranslation::isOnePerToken(Type type) const {
  const auto at = tokenDim(type);
  return at &&
         sizes.inStep(dist::getDims(type)[*at], all.set.size) == all.set.size;
}

Value RowTranslation::operandOf(Operation *op, Value value, Tokens &tokens) {
  switch (kindOf(value)) {
  case RowKind::Tokens:
    return ofTokens(value, tokens);
  case RowKind::Shared:
    return values.lookup(value);
  case RowKind::OfRows: {
    Type type = op->getResult(0).getType();
    const size_t rank = dist::getDims(type).size();
    const bool joins =
        (isElementwise(op) || isa<ExpandOp>(op)) && isOnePerToken(type);
    return joins ? rows.spread(values.lookup(value), tokens.set, rank,
                               *tokenDim(type))
                 : Value();
  }
  case RowKind::Pool:
  case RowKind::Encoder:
    return {};
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Of one row
//===----------------------------------------------------------------------===//

/// An op that mixes positions, in a step of one row.
bool RowTranslation::isOfWhole(Operation *op) const {
  auto isOfTokens = [&](Value value) {
    return kindOf(value) == RowKind::Tokens;
  };
  if (!sizes.isOfOneRow || isa<AttentionOp>(op) || op->getNumResults() == 0 ||
      op->getNumRegions() > 0 || isCacheAppend(op) ||
      llvm::none_of(op->getOperands(), isOfTokens))
    return false;
  return !llvm::all_of(op->getResults(), [&](Value result) {
    return tokenDim(result.getType()).has_value();
  }) || !findMixing(op).empty();
}

/// As it is, on all positions: what comes of them all is shared by them.
LogicalResult RowTranslation::translateWhole(Operation *op) {
  SmallVector<Value, 4> operands;
  for (Value operand : op->getOperands()) {
    const RowKind kind = kindOf(operand);
    if (kind != RowKind::Tokens && kind != RowKind::Shared)
      return refuse(op, "it makes one value of all positions, and of a value "
                        "of whole rows or of a cache");
    operands.push_back(kind == RowKind::Tokens ? ofTokens(operand, all)
                                               : values.lookup(operand));
  }
  SmallVector<Type, 2> types;
  for (Value result : op->getResults()) {
    auto dims = sizesOf(result.getType(), all.set.size, /*isOfRows=*/false);
    if (!dims)
      return refuse(op, "its result has two dims of positions, or of keys");
    types.push_back(dist::makeType(elementOf(result), *dims));
  }
  if (std::string why = findMixingOfKeys(op); !why.empty())
    return refuse(op, why);
  Operation *made = clone(op, operands, types).getDefiningOp();
  for (OpResult result : op->getResults())
    (kindOf(result) == RowKind::Tokens ? all.values : values)[result] =
        made->getResult(result.getResultNumber());
  return success();
}

//===----------------------------------------------------------------------===//
// Each position by itself
//===----------------------------------------------------------------------===//

LogicalResult RowTranslation::translateTokens(Operation *op, Tokens &tokens) {
  if (auto range = dyn_cast<RangeOp>(op))
    return translateRange(range, tokens);
  if (auto trilu = dyn_cast<TriluOp>(op))
    return translateTrilu(trilu, tokens);
  SmallVector<Type, 2> types;
  for (Value result : op->getResults()) {
    auto dims = sizesOf(result.getType(), tokens.set.size, /*isOfRows=*/false);
    const auto at = tokenDim(result.getType());
    if (!dims || !at || !(*dims)[*at].exactDiv(tokens.set.size))
      return refuse(op, "its result is not one for each new position");
    types.push_back(dist::makeType(elementOf(result), *dims));
  }
  auto axes = op->getAttrOfType<DenseI64ArrayAttr>("axes");
  SmallVector<int64_t, 2> keyDims;
  if (axes && op->hasTrait<LoweredBy<&lowerReduction>::Impl>())
    for (int64_t axis : axes.asArrayRef())
      if (sizes.isOfKeys(dimsOf(op->getOperand(0))[axis]))
        keyDims.push_back(axis);
  if (std::string why = findMixing(op, !keyDims.empty()); !why.empty())
    return refuse(op, why);
  SmallVector<Value, 4> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(operandOf(op, operand, tokens));
    if (!operands.back())
      return refuse(op, "it joins positions with a value of whole rows");
  }
  if (!keyDims.empty() &&
      !(operands[0] = withoutMissingKeys(op, operands[0], keyDims, &tokens)))
    return refuse(op, "it reduces positions of the keys");
  Value first = clone(op, operands, types);
  for (OpResult result : op->getResults())
    tokens.values[result] =
        first.getDefiningOp()->getResult(result.getResultNumber());
  return success();
}

} // namespace shardc::import
