//===- RecoverCaches.cpp - Which inputs and outputs are one cache ---------===//
//
// An input that some op appends to, and the output that is the result, are past
// and present of one cache, whatever they are called. A function that does not
// append may still compute present afresh (the prompt of a merged decoder), or
// hand past on. So do the caches of cross-attention, which nobody appends to:
//
//                 prompt (past is not read)   step
//   self          present = k         set     present = past | k    append
//   cross         present = keys      set     present = past        keep
//   cross         present = keys      set     present = no elements keep
//
// In the last line nothing but its role says that past is what present was.
//
// A cache of the last tokens alone is as large before and after:
//
//   present = GatherElements (past | k)                   write
//
//===----------------------------------------------------------------------===//

#include "passes/import/Passes.h"

#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Cache.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "passes/import/caches/CacheRoles.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_RECOVERCACHES
#include "passes/import/Passes.h.inc"

using namespace onnx;

namespace {

/// Numbers of an input and an output, and the dim that grows.
struct Pair {
  unsigned input, output;
  std::optional<int64_t> dim;
};

SmallVector<dist::DimExpr, 4> dimsOf(Value value) {
  return llvm::to_vector<4>(dist::getDims(value.getType()));
}

Value presentOf(func::FuncOp function, unsigned output) {
  return function.front().getTerminator()->getOperand(output);
}

/// The value in the type in which it is computed, where a model in bfloat16
/// takes and gives float32. What was narrow once is not rounded again.
Value withoutCast(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  if (!cast)
    return value;
  auto outer = dyn_cast<FloatType>(getElementTypeOrSelf(value.getType()));
  auto inner =
      dyn_cast<FloatType>(getElementTypeOrSelf(cast.getInput().getType()));
  return outer && inner && outer.getWidth() != inner.getWidth()
             ? cast.getInput()
             : value;
}

/// What present is past with something behind it, and along which dim.
struct Append {
  BlockArgument past;
  int64_t dim;
};

std::optional<Append> findAppend(Value present) {
  Operation *op = withoutCast(present).getDefiningOp();
  int64_t dim = 2;
  if (auto concat = dyn_cast_or_null<ConcatOp>(op);
      concat && op->getNumOperands() == 2)
    dim = static_cast<int64_t>(concat.getAxis());
  else if (auto append = dyn_cast_or_null<CacheAppendOp>(op);
           !append || append.getInCapacity())
    return std::nullopt;
  Value first = op->getOperand(0);
  if (auto cast = first.getDefiningOp<CastOp>()) {
    // All of present is written then, and nothing may read past afterwards.
    first = cast.getInput().hasOneUse() ? cast.getInput() : first;
  }
  auto past = dyn_cast<BlockArgument>(first);
  // A prompt is an input too: a cache may be empty, and grows.
  if (!past || dist::getDims(past.getType())[dim].asConstant() ||
      getElementTypeOrSelf(past.getType()) !=
          getElementTypeOrSelf(present.getType()))
    return std::nullopt;
  return Append{past, dim};
}

/// The past of which present has the last entries, with new ones behind them.
BlockArgument findLast(Value present) {
  auto last = withoutCast(present).getDefiningOp<GatherElementsOp>();
  auto append =
      last ? last.getData().getDefiningOp<CacheAppendOp>() : CacheAppendOp();
  if (!append || append.getInCapacity())
    return {};
  auto past = dyn_cast<BlockArgument>(withoutCast(append.getPast()));
  return past && dimsOf(past) == dimsOf(present) &&
                 getElementTypeOrSelf(past) == getElementTypeOrSelf(present)
             ? past
             : BlockArgument();
}

/// Present can be what the next run gets as past.
bool fits(Value past, Value present) {
  auto pastDims = dimsOf(past), presentDims = dimsOf(present);
  if (pastDims.size() != presentDims.size() ||
      cast<RankedTensorType>(past.getType()).getElementType() !=
          cast<RankedTensorType>(present.getType()).getElementType())
    return false;
  for (auto [a, b] : llvm::zip(pastDims, presentDims))
    if (a.asConstant() && a != b)
      return false;
  return true;
}

void findAppends(func::FuncOp function, std::vector<Pair> &pairs) {
  for (OpOperand &output : function.front().getTerminator()->getOpOperands())
    if (std::optional<Append> append = findAppend(output.get()))
      pairs.push_back({append->past.getArgNumber(), output.getOperandNumber(),
                       append->dim});
    else if (BlockArgument past = findLast(output.get()))
      pairs.push_back(
          {past.getArgNumber(), output.getOperandNumber(), std::nullopt});
}

using Roles = SmallVector<std::optional<Role>>;

template <typename Values> Roles rolesOf(Values values) {
  Roles roles;
  for (Value value : values)
    roles.push_back(roleOf(value));
  return roles;
}

/// What a step hands on as it is, or reads where the prompt computes it. A role
/// that two layers share (they have the same weights) says nothing.
void findUnchanged(func::FuncOp step, func::FuncOp prompt,
                   std::vector<Pair> &pairs) {
  const Roles pasts = rolesOf(step.getArguments());
  const Roles computed = rolesOf(prompt.front().getTerminator()->getOperands());
  for (OpOperand &output : step.front().getTerminator()->getOpOperands()) {
    const unsigned number = output.getOperandNumber();
    const std::optional<Role> &role = computed[number];
    if (auto past = dyn_cast<BlockArgument>(output.get()))
      pairs.push_back({past.getArgNumber(), number, std::nullopt});
    else if (role && hasNoElements(output.get()) &&
             llvm::count(computed, role) == 1 && llvm::count(pasts, role) == 1)
      pairs.push_back({unsigned(llvm::find(pasts, role) - pasts.begin()),
                       number, std::nullopt});
  }
}

/// What the function does with the pair; empty: not what a cache allows.
StringRef kindOf(func::FuncOp function, const Pair &pair) {
  BlockArgument past = function.getArgument(pair.input);
  Value present = presentOf(function, pair.output);
  if (present == past || hasNoElements(present))
    return "keep";
  std::optional<Append> append = findAppend(present);
  if (append && append->past == past && append->dim == pair.dim)
    return "append";
  if (!pair.dim && findLast(present) == past)
    return "write";
  return past.use_empty() && fits(past, present) && !isa<BlockArgument>(present)
             ? "set"
             : "";
}

struct RecoverCaches : impl::RecoverCachesBase<RecoverCaches> {
  void runOnOperation() override {
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    std::vector<Pair> pairs;
    for (func::FuncOp function : functions)
      findAppends(function, pairs);
    for (func::FuncOp step : functions)
      for (func::FuncOp prompt : functions)
        if (step != prompt)
          findUnchanged(step, prompt, pairs);
    llvm::SmallDenseSet<unsigned> inputs, outputs;
    for (const Pair &pair : pairs)
      if (!inputs.contains(pair.input) && !outputs.contains(pair.output) &&
          annotate(functions, pair)) {
        inputs.insert(pair.input);
        outputs.insert(pair.output);
        ++numCaches;
      }
  }

private:
  /// False if it is no cache: a function uses it otherwise, or none writes it.
  bool annotate(ArrayRef<func::FuncOp> functions, const Pair &pair) {
    SmallVector<StringRef, 2> kinds;
    for (func::FuncOp function : functions)
      kinds.push_back(kindOf(function, pair));
    if (llvm::is_contained(kinds, "") ||
        llvm::all_of(kinds, [](StringRef kind) { return kind == "keep"; }))
      return false;
    for (auto [function, kind] : llvm::zip_equal(functions, kinds))
      onnx::FunctionInfo(function).setCache(
          {StringAttr::get(&getContext(), kind), pair.input, pair.output,
           pair.dim});
    return true;
  }
};

} // namespace
} // namespace shardc::import
