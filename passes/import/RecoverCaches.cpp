//===- RecoverCaches.cpp - Which inputs and outputs are one cache ---------===//
//
// An input that some op appends to, and the output that is the result, are past
// and present of one cache, whatever they are called.
//
//===----------------------------------------------------------------------===//

#include "passes/import/Passes.h"

#include "dialects/onnx/ops/Cache.h"
#include "dialects/onnx/ops/Layout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_RECOVERCACHES
#include "passes/import/Passes.h.inc"

using namespace onnx;

namespace {

/// The dim along which the op appends to its first operand, if it does that.
std::optional<int64_t> appendedDim(Operation *op) {
  if (auto concat = dyn_cast<ConcatOp>(op); concat && op->getNumOperands() == 2)
    return static_cast<int64_t>(concat.getAxis());
  if (auto append = dyn_cast<CacheAppendOp>(op);
      append && !append.getInCapacity())
    return 2;
  return std::nullopt;
}

struct RecoverCaches : impl::RecoverCachesBase<RecoverCaches> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      run(function);
  }

private:
  void run(func::FuncOp function) {
    Builder builder(function.getContext());
    llvm::DenseSet<Value> taken;
    auto number = [&](int64_t value) {
      return builder.getI64IntegerAttr(value);
    };
    for (OpOperand &output :
         function.front().getTerminator()->getOpOperands()) {
      Operation *op = output.get().getDefiningOp();
      std::optional<int64_t> dim = op ? appendedDim(op) : std::nullopt;
      auto past =
          dim ? dyn_cast<BlockArgument>(op->getOperand(0)) : BlockArgument();
      // A prompt is an input too: a cache may be empty, and grows.
      if (!past || dist::getDims(past.getType())[*dim].asConstant() ||
          !taken.insert(past).second || !taken.insert(output.get()).second)
        continue;
      NamedAttribute input("input", number(past.getArgNumber()));
      NamedAttribute result("output", number(output.getOperandNumber()));
      NamedAttribute axis("dim", number(*dim));
      op->setAttr("onnx.cache",
                  builder.getDictionaryAttr({input, result, axis}));
      function.setArgAttr(past.getArgNumber(), "onnx.cache", axis.getValue());
      ++numCaches;
    }
  }
};

} // namespace
} // namespace shardc::import
