#include "passes/import/rows/EncoderKeys.h"

#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Cache.h"
#include "dialects/onnx/ops/Layout.h"
#include "passes/import/Matching.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;

namespace {

class Finder {
public:
  Finder(func::FuncOp function, const RowSizes &sizes)
      : function(function), sizes(sizes) {
    for (const CacheInfo &cache : FunctionInfo(function).caches())
      pasts.insert(function.getArgument(cache.input));
  }

  LogicalResult run() {
    for (auto attention : function.getOps<AttentionOp>()) {
      Value key = attention.getKey(), value = attention.getValue();
      if (Value pool = pastOf(key)) {
        before = {pool, pastOf(value)};
        continue;
      }
      const Dims dims = dimsOf(key);
      // Else RowAttention.cpp refuses it.
      if (dims.size() != 4 || !dims[2].asSymbol() || dims[2] == sizes.past ||
          dims[2] == sizes.sequence || dims[2] == sizes.batch)
        continue;
      if (found.length.asSymbol() && found.length != dims[2])
        return refuse(attention)
               << "it has " << dims[2].str() << " keys, and another has "
               << found.length.str();
      found.length = dims[2];
      for (auto [made, pool] :
           {std::pair(key, before.first), std::pair(value, before.second)})
        if (failed(add(attention, made, pool)))
          return failure();
      before = {};
    }
    return success();
  }

  EncoderKeys found;

private:
  static InFlightDiagnostic refuse(AttentionOp op) {
    return op.emitError(
        "has no place in a step of rows of different lengths: ");
  }

  /// The cache that a key or value is; null if it is none.
  Value pastOf(Value value) const {
    while (auto transpose = value.getDefiningOp<TransposeOp>())
      value = transpose.getData();
    Operation *op = value.getDefiningOp();
    return isa_and_nonnull<ConcatOp, CacheAppendOp>(op) &&
                   pasts.contains(op->getOperand(0))
               ? op->getOperand(0)
               : Value();
  }

  /// Keys or values go into the pool of the attention before.
  LogicalResult add(AttentionOp op, Value made, Value pool) {
    if (found.poolOf.contains(made))
      return success();
    if (!pool || found.inPool.contains(pool))
      return refuse(op)
             << "there is no self-attention before it whose cache has "
             << "room for its keys and values";
    Dims dims = dimsOf(pool);
    for (DimExpr &dim : dims)
      if (dim == sizes.past)
        dim = found.length;
    if (dims != dimsOf(made) || elementOf(pool) != elementOf(made))
      return refuse(op)
             << "its keys and values are not of the sizes that the cache of "
             << FunctionInfo(function).inputName(
                    cast<BlockArgument>(pool).getArgNumber())
             << " has";
    found.poolOf[made] = pool;
    found.inPool[pool] = made;
    return collect(op, made);
  }

  /// What they are made of, but for weights.
  LogicalResult collect(AttentionOp op, Value made) {
    SmallVector<Value> open{made};
    llvm::DenseSet<Value> seen;
    while (!open.empty()) {
      Value next = open.pop_back_val();
      if (!seen.insert(next).second)
        continue;
      auto argument = dyn_cast<BlockArgument>(next);
      if (!argument) {
        llvm::append_range(open, next.getDefiningOp()->getOperands());
        continue;
      }
      for (DimExpr dim : dimsOf(argument))
        if (dim != sizes.batch && dim != found.length && !dim.asConstant())
          return refuse(op)
                 << "its keys and values are made of "
                 << FunctionInfo(function).inputName(argument.getArgNumber())
                 << ", which has other sizes than the encoder's output";
      if (!llvm::is_contained(dimsOf(argument), found.length))
        return refuse(op) << "its keys and values are made of "
                          << FunctionInfo(function).inputName(
                                 argument.getArgNumber())
                          << ", which is none of the encoder's output";
      found.sources.insert(argument);
    }
    for (Operation &each : function.front())
      if (each.getNumResults() > 0 && seen.contains(each.getResult(0)) &&
          llvm::any_of(each.getOperands(), [&](Value operand) {
            Operation *from = operand.getDefiningOp();
            return from ? found.ops.contains(from)
                        : found.sources.contains(operand);
          }))
        found.ops.insert(&each);
    return success();
  }

  func::FuncOp function;
  const RowSizes &sizes;
  llvm::DenseSet<Value> pasts;
  /// Of the self-attention before, and not yet of a cross-attention.
  std::pair<Value, Value> before;
};

} // namespace

FailureOr<EncoderKeys> EncoderKeys::of(func::FuncOp function,
                                       const RowSizes &sizes) {
  Finder finder(function, sizes);
  if (failed(finder.run()))
    return failure();
  return finder.found;
}

} // namespace shardc::import
