#include "passes/import/rows/FrontOfInputs.h"

#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Layout.h"
#include "passes/import/Matching.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;

namespace {

using Aliases = llvm::StringMap<DimExpr>;

bool isFront(SliceOp slice) {
  dist::DimsAttr bounds = slice.getBoundsAttr();
  return bounds &&
         llvm::all_of(bounds.getValues(),
                      [](DimExpr start) { return start.isConstant(0); }) &&
         (!slice.getSteps() ||
          llvm::all_of(*slice.getSteps(), [](int64_t s) { return s == 1; }));
}

/// Sizes of caches are known by them.
Aliases findAliases(func::FuncOp function) {
  Aliases aliases, ofCaches;
  for (const CacheInfo &cache : FunctionInfo(function).caches())
    for (Type type : {function.getArgumentTypes()[cache.input],
                      function.getResultTypes()[cache.output]})
      for (DimExpr dim : dist::getDims(type))
        dim.forEachSymbol([&](StringRef name, bool) { ofCaches[name] = dim; });
  llvm::StringSet<> severalFronts;
  for (SliceOp slice : function.getOps<SliceOp>()) {
    if (!isFront(slice))
      continue;
    for (auto [from, to] :
         llvm::zip(dimsOf(slice.getData()), dimsOf(slice.getResult())))
      if (auto name = from.asSymbol();
          name && from != to && !ofCaches.contains(*name))
        if (aliases.try_emplace(*name, to).first->second != to)
          severalFronts.insert(*name);
  }
  for (const auto &name : severalFronts)
    aliases.erase(name.getKey());
  // What else reads it reads each element by itself, on the way there.
  for (Operation &op : function.front())
    for (Value operand : op.getOperands())
      for (DimExpr dim :
           isa<TensorType>(operand.getType()) ? dimsOf(operand) : Dims())
        if (auto name = dim.asSymbol(); name && aliases.contains(*name)) {
          auto slice = dyn_cast<SliceOp>(op);
          const bool isOnTheWay =
              op.getNumResults() == 1 && haveSameDims(operand, op.getResult(0));
          if (!isOnTheWay && (!slice || !isFront(slice)))
            aliases.erase(*name);
        }
  // Not in terms of each other.
  for (const auto &alias : Aliases(aliases)) {
    bool isFree = true;
    alias.getValue().forEachSymbol(
        [&](StringRef name, bool) { isFree &= !aliases.contains(name); });
    if (!isFree)
      aliases.erase(alias.getKey());
  }
  return aliases;
}

DimExpr replaced(DimExpr dim, const Aliases &aliases) {
  return dim.replaceSymbols([&](StringRef name) -> std::optional<DimExpr> {
    auto known = aliases.find(name);
    return known == aliases.end() ? std::nullopt
                                  : std::optional(known->getValue());
  });
}

Type replaced(Type type, const Aliases &aliases) {
  if (!isa<RankedTensorType>(type) || !dist::getValueAttr(type))
    return type;
  Dims dims = dist::getDims(type);
  for (DimExpr &dim : dims)
    dim = replaced(dim, aliases);
  return dist::makeType(cast<RankedTensorType>(type).getElementType(), dims);
}

void replaceAttributes(Operation *op, const Aliases &aliases) {
  for (NamedAttribute entry : llvm::to_vector(op->getAttrs()))
    if (auto sizes = dyn_cast<dist::DimsAttr>(entry.getValue())) {
      Dims values(sizes.getValues());
      for (DimExpr &value : values)
        value = replaced(value, aliases);
      op->setAttr(entry.getName(),
                  dist::DimsAttr::get(op->getContext(), values));
    }
}

} // namespace

void takeFrontOfInputs(func::FuncOp function) {
  const Aliases aliases = findAliases(function);
  if (aliases.empty())
    return;
  for (BlockArgument argument : function.getArguments())
    argument.setType(replaced(argument.getType(), aliases));
  for (Operation &op : llvm::make_early_inc_range(function.front())) {
    replaceAttributes(&op, aliases);
    for (Value result : op.getResults())
      result.setType(replaced(result.getType(), aliases));
    auto slice = dyn_cast<SliceOp>(op);
    if (slice && isFront(slice) &&
        haveSameDims(slice.getData(), slice.getResult())) {
      slice.getResult().replaceAllUsesWith(slice.getData());
      slice.erase();
    }
  }
  function.setType(FunctionType::get(
      function.getContext(), function.front().getArgumentTypes(),
      function.front().getTerminator()->getOperandTypes()));
}

} // namespace shardc::import
