#include "passes/import/rows/KeptCaches.h"

#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"
#include "passes/import/rows/ReplaceSizes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;

namespace {

/// Puts what a prompt computes into the function for steps.
class PromptParts {
public:
  PromptParts(func::FuncOp step, func::FuncOp prompt)
      : step(step), prompt(prompt), builder(step.getContext()) {
    builder.setInsertionPointToStart(&step.front());
  }

  /// A value of the prompt in the step, in place of an input; null after an
  /// error.
  Value make(unsigned output, BlockArgument past) {
    Value value = prompt.front().getTerminator()->getOperand(output);
    const std::string name =
        FunctionInfo(step).inputName(past.getArgNumber()).getValue().str();
    SetVector<Operation *> ops;
    SetVector<BlockArgument> from;
    collect(value, ops, from);
    for (BlockArgument argument : from)
      if (!bind(argument)) {
        step.emitError("has no step of rows: the cache of ")
            << name << " is computed of "
            << FunctionInfo(step).inputName(argument.getArgNumber())
            << ", which has other sizes where the cache is read";
        return {};
      }
    for (Operation &op : prompt.front())
      if (ops.contains(&op) && !map.contains(op.getResult(0)))
        builder.clone(op, map);
    Value made = map.lookupOrDefault(value);
    if (!joinSizes(made, past)) {
      step.emitError("has no step of rows: the cache of ")
          << name << " is not of the sizes that it is set to";
      return {};
    }
    keepGuards(ops);
    return made;
  }

private:
  static void collect(Value value, SetVector<Operation *> &ops,
                      SetVector<BlockArgument> &from) {
    SmallVector<Value> open{value};
    while (!open.empty()) {
      Value next = open.pop_back_val();
      if (auto argument = dyn_cast<BlockArgument>(next))
        from.insert(argument);
      else if (ops.insert(next.getDefiningOp()))
        llvm::append_range(open, next.getDefiningOp()->getOperands());
    }
  }

  /// An input that the step does not read is of no sizes of its own.
  bool bind(BlockArgument argument) {
    BlockArgument own = step.getArgument(argument.getArgNumber());
    map.map(argument, own);
    if (own.getType() != argument.getType() && own.use_empty())
      own.setType(argument.getType());
    return own.getType() == argument.getType();
  }

  /// Sizes that the cache has by other names are those of what it is set to.
  bool joinSizes(Value made, BlockArgument past) {
    const Dims from = dimsOf(past), to = dimsOf(made);
    SizeAliases aliases;
    if (from.size() != to.size() || elementOf(past) != elementOf(made))
      return false;
    for (auto [old, size] : llvm::zip(from, to)) {
      if (old == size)
        continue;
      auto symbol = old.asSymbol();
      if (!symbol || aliases.try_emplace(*symbol, size).first->second != size)
        return false;
    }
    for (const auto &alias : aliases)
      for (const auto &other : aliases)
        if (alias.getValue() == DimExpr::symbol(other.getKey()))
          return false;
    if (!aliases.empty())
      replaceSizes(step, aliases);
    return dimsOf(past) == dimsOf(made);
  }

  /// What the prompt asks of the sizes of these values is asked of the step's.
  void keepGuards(const SetVector<Operation *> &ops) {
    llvm::StringSet<> sizes;
    for (Operation *op : ops)
      for (Value result : op->getResults())
        for (DimExpr dim :
             isa<TensorType>(result.getType()) ? dimsOf(result) : Dims())
          dim.forEachSymbol([&](StringRef name, bool) { sizes.insert(name); });
    for (auto guard : prompt.front().getOps<GuardOp>()) {
      bool isOfThem = true;
      for (dist::DimsAttr side : {guard.getLhs(), guard.getRhs()})
        for (DimExpr size : side.getValues())
          size.forEachSymbol(
              [&](StringRef name, bool) { isOfThem &= sizes.contains(name); });
      if (isOfThem && guards.insert(guard).second)
        builder.clone(*guard, map);
    }
  }

  func::FuncOp step, prompt;
  OpBuilder builder;
  IRMapping map;
  llvm::DenseSet<Operation *> guards;
};

} // namespace

void dropOutputs(func::FuncOp function, const llvm::BitVector &outputs) {
  function.front().getTerminator()->eraseOperands(outputs);
  (void)function.eraseResults(outputs);
}

LogicalResult computeKeptCaches(func::FuncOp step, ArrayRef<func::FuncOp> all,
                                SmallVectorImpl<unsigned> &unused) {
  llvm::BitVector dropped(step.getNumResults());
  llvm::MapVector<Operation *, std::unique_ptr<PromptParts>> prompts;
  for (const CacheInfo &cache : FunctionInfo(step).caches()) {
    if (cache.kind != "keep")
      continue;
    BlockArgument past = step.getArgument(cache.input);
    auto sets = [&](func::FuncOp function) {
      auto own = FunctionInfo(function).cache(cache.output);
      return own && own->kind == "set" && own->input == cache.input;
    };
    auto prompt = llvm::find_if(all, sets);
    if (prompt == all.end())
      return step.emitError("has no step of rows: no branch sets the cache of ")
             << FunctionInfo(step).inputName(cache.input);
    auto &parts = prompts[*prompt];
    if (!parts)
      parts = std::make_unique<PromptParts>(step, *prompt);
    Value made = parts->make(cache.output, past);
    if (!made)
      return failure();
    past.replaceAllUsesWith(made);
    unused.push_back(cache.input);
    dropped.set(cache.output);
  }
  if (dropped.any())
    dropOutputs(step, dropped);
  return success();
}

} // namespace shardc::import
