//===- CaptureOperands.cpp - Bodies see their arguments only --------------===//

#include "passes/import/Passes.h"

#include "dialects/onnx/ops/ControlFlow.h"
#include "dialects/onnx/ops/Source.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_CAPTUREOPERANDS
#include "passes/import/Passes.h.inc"

using namespace onnx;

namespace {

/// What a body may as well have itself.
bool isSmallSource(Operation *op) {
  return op && isa<NoneOp, ConstantOp, SymbolsOp>(op);
}

/// A copy of the op at the start of each region that uses it.
void cloneInto(MutableArrayRef<Region> regions, Operation *source) {
  for (Region &region : regions) {
    bool isUsed = llvm::any_of(source->getUsers(), [&](Operation *user) {
      return region.isAncestor(user->getParentRegion());
    });
    if (!isUsed)
      continue;
    OpBuilder builder = OpBuilder::atBlockBegin(&region.front());
    Operation *clone = builder.clone(*source);
    for (auto [value, copy] :
         llvm::zip(source->getResults(), clone->getResults()))
      replaceAllUsesInRegionWith(value, copy, region);
  }
}

struct CaptureOperands : impl::CaptureOperandsBase<CaptureOperands> {
  void runOnOperation() override {
    // What an inner op captures, the outer one must as well.
    getOperation().walk<WalkOrder::PostOrder>([&](Operation *op) {
      if (isa<IfOp, LoopOp>(op))
        capture(op);
    });
  }

private:
  void capture(Operation *op) {
    llvm::SetVector<Value> values;
    getUsedValuesDefinedAbove(op->getRegions(), values);
    for (Value value : values) {
      if (isSmallSource(value.getDefiningOp())) {
        cloneInto(op->getRegions(), value.getDefiningOp());
        continue;
      }
      op->insertOperands(op->getNumOperands(), value);
      for (Region &region : op->getRegions()) {
        Value argument = region.addArgument(value.getType(), value.getLoc());
        replaceAllUsesInRegionWith(value, argument, region);
      }
      ++numCaptures;
    }
  }
};

} // namespace
} // namespace shardc::import
