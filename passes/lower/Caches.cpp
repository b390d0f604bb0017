#include "passes/lower/Caches.h"

#include "dialects/onnx/ops/Layout.h"
#include "passes/lower/Lowering.h"

using namespace mlir;

namespace shardc::lower {
namespace {

Value presentOf(func::FuncOp function, const Cache &cache) {
  return function.front().getTerminator()->getOperand(cache.output);
}

/// What the function's memory of a cache holds: past, or else present.
Value heldBy(func::FuncOp function, const Cache &cache) {
  return cache.kind == "set" ? presentOf(function, cache)
                             : Value(function.getArgument(cache.input));
}

/// Each rank holds the same part of both. The dim that grows does not count,
/// nor what functions call the size of a dim that is not split.
bool isSplitAlike(Value a, Value b, const Cache &cache) {
  const dist::Sharding left = dist::getSharding(a.getType());
  const dist::Sharding right = dist::getSharding(b.getType());
  for (auto [d, dim] : llvm::enumerate(left.dims))
    if (cache.dim != int64_t(d) && dim != right.dims[d] &&
        (dim.isSplit() || right.dims[d].isSplit()))
      return false;
  return left.dims.size() == right.dims.size();
}

bool isWhole(Value value, const Cache &cache) {
  return !cache.dim ||
         !dist::getSharding(value.getType()).dims[*cache.dim].isSplit();
}

/// Whether the rank's part of present is its part of past and what is new.
bool canKeep(func::FuncOp function, const Cache &cache) {
  Value held = heldBy(function, cache);
  if (!isWhole(held, cache))
    return false;
  if (cache.isReplaced())
    return isSplitAlike(presentOf(function, cache), held, cache);
  if (cache.kind != "append" && cache.kind != "write")
    return true;
  // What is written over nobody may read afterwards.
  if (cache.kind == "write" && !held.hasOneUse())
    return false;
  Value present = presentOf(function, cache);
  Operation *append = present.getDefiningOp();
  return append && append->getNumOperands() > 0 &&
         append->getOperand(0) == held && isWhole(present, cache) &&
         isSplitAlike(present, held, cache);
}

SmallVector<Cache> cachesOf(func::FuncOp function) {
  SmallVector<Cache> caches;
  for (const onnx::CacheInfo &cache : onnx::FunctionInfo(function).caches())
    caches.push_back({cache});
  llvm::sort(caches,
             [](const Cache &a, const Cache &b) { return a.input < b.input; });
  return caches;
}

/// Whether all functions hold one of their caches, `uses` by function, alike.
bool isHeldAlike(ArrayRef<func::FuncOp> functions, ArrayRef<Cache> uses) {
  for (size_t f = 0; f < functions.size(); ++f)
    if (!canKeep(functions[f], uses[f]))
      return false;
  func::FuncOp first = functions[0];
  for (size_t f = 1; f < functions.size(); ++f) {
    func::FuncOp function = functions[f];
    if (isSplitAlike(heldBy(function, uses[f]), heldBy(first, uses[0]),
                     uses[f]))
      continue;
    auto diagnostic =
        function.emitWarning("the cache of ")
        << onnx::FunctionInfo(function).inputName(uses[f].input)
        << " is split over the ranks otherwise than in another profile of the "
           "model; a state does not keep it";
    diagnostic.attachNote(first.getLoc()) << "the other profile is here";
    return false;
  }
  return true;
}

} // namespace

SmallVector<SmallVector<Cache>> findCaches(ArrayRef<func::FuncOp> functions,
                                           bool hasPages) {
  SmallVector<SmallVector<Cache>> kept(functions.size());
  auto all = llvm::map_to_vector(functions, cachesOf);
  for (const Cache &cache : all[0]) {
    SmallVector<Cache> uses;
    // Profiles that cannot be cut alike may have it in another stage.
    for (const SmallVector<Cache> &ofFunction : all)
      for (const Cache &other : ofFunction)
        if (other.input == cache.input)
          uses.push_back(other);
    if (uses.size() != functions.size()) {
      func::FuncOp first = functions[0];
      first.emitWarning("the cache of ")
          << onnx::FunctionInfo(first).inputName(cache.input)
          << " is in another stage in another profile of the model; a state "
             "does not keep it";
      continue;
    }
    if (isHeldAlike(functions, uses))
      for (auto [f, use] : llvm::enumerate(uses)) {
        kept[f].push_back(use);
        kept[f].back().isDimFirst = hasPages && use.dim && use.kind != "write";
      }
  }
  return kept;
}

} // namespace shardc::lower
