#include "passes/import/rows/FrontOfInputs.h"

#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Layout.h"
#include "passes/import/Matching.h"
#include "passes/import/rows/ReplaceSizes.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;

namespace {

bool isFront(SliceOp slice) {
  dist::DimsAttr bounds = slice.getBoundsAttr();
  return bounds &&
         llvm::all_of(bounds.getValues(),
                      [](DimExpr start) { return start.isConstant(0); }) &&
         (!slice.getSteps() ||
          llvm::all_of(*slice.getSteps(), [](int64_t s) { return s == 1; }));
}

/// Sizes of caches are known by them.
SizeAliases findAliases(func::FuncOp function) {
  SizeAliases aliases, ofCaches;
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
  for (const auto &alias : SizeAliases(aliases)) {
    bool isFree = true;
    alias.getValue().forEachSymbol(
        [&](StringRef name, bool) { isFree &= !aliases.contains(name); });
    if (!isFree)
      aliases.erase(alias.getKey());
  }
  return aliases;
}

} // namespace

void takeFrontOfInputs(func::FuncOp function) {
  const SizeAliases aliases = findAliases(function);
  if (aliases.empty())
    return;
  replaceSizes(function, aliases);
  for (Operation &op : llvm::make_early_inc_range(function.front())) {
    auto slice = dyn_cast<SliceOp>(op);
    if (slice && isFront(slice) &&
        haveSameDims(slice.getData(), slice.getResult())) {
      slice.getResult().replaceAllUsesWith(slice.getData());
      slice.erase();
    }
  }
}

} // namespace shardc::import
