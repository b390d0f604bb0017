//===- GrowWindowedCaches.cpp - Whole caches where a runtime keeps them ---===//
//
// GroupQueryAttention with sliding_window_cache sees of whatever cache the last
// tokens alone. What it leaves out of the cache is nothing that anybody sees, so
// that one which has all computes the same:
//
//   past [b, kv, 128, d]    sliding_window_cache    present [b, kv, 128, d]
//   past [b, kv, p, d]      local_window_size       present [b, kv, p + s, d]
//
// Caches of all layers have one length then, as a sequence in pages has.
//
//===----------------------------------------------------------------------===//

#include "passes/import/Passes.h"

#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/microsoft/Attention.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_GROWWINDOWEDCACHES
#include "passes/import/Passes.h.inc"

using dist::DimExpr;
using onnx::MicrosoftGroupQueryAttentionOp;

namespace {

enum Operand { kPastKey = 3, kPastValue, kTotalLength = 6, kBias = 10 };
constexpr int64_t kPositions = 2; ///< dim of a cache

Value operandOf(Operation *op, unsigned number) {
  return number < op->getNumOperands() &&
                 isa<TensorType>(op->getOperand(number).getType())
             ? op->getOperand(number)
             : Value();
}

/// Past as an input of the model that nobody else reads; null if it is none.
BlockArgument pastOf(Operation *op, unsigned number) {
  auto past = dyn_cast_or_null<BlockArgument>(operandOf(op, number));
  return past && past.hasOneUse() && dist::getDims(past.getType()).size() == 4
             ? past
             : BlockArgument();
}

bool isWindowed(MicrosoftGroupQueryAttentionOp op) {
  return op.getSlidingWindowCache() != 0;
}

/// What else is wrong with it shape inference says.
bool canGrow(MicrosoftGroupQueryAttentionOp op) {
  return int64_t(op.getLocalWindowSize()) > 0 && pastOf(op, kPastKey) &&
         pastOf(op, kPastValue) && operandOf(op, kTotalLength) &&
         !operandOf(op, kBias);
}

/// How long past is: of a whole cache, else of the first that grows, if a symbol
/// says that.
DimExpr lengthFor(func::FuncOp function,
                  ArrayRef<MicrosoftGroupQueryAttentionOp> windowed) {
  for (auto op : function.getOps<MicrosoftGroupQueryAttentionOp>())
    if (!isWindowed(op))
      if (BlockArgument past = pastOf(op, kPastKey))
        if (DimExpr length = dist::getDims(past.getType())[kPositions];
            length.asSymbol())
          return length;
  llvm::StringSet<> known;
  for (BlockArgument input : function.getArguments())
    for (DimExpr size : dist::getDims(input.getType()))
      size.forEachSymbol([&](StringRef name, bool) { known.insert(name); });
  DimExpr first =
      dist::getDims(pastOf(windowed.front(), kPastKey).getType())[kPositions];
  if (first.asSymbol())
    return first;
  std::string name = "past";
  while (known.contains(name))
    name += "_length";
  return DimExpr::symbol(name);
}

struct GrowWindowedCaches : impl::GrowWindowedCachesBase<GrowWindowedCaches> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      grow(function);
  }

private:
  void grow(func::FuncOp function) {
    SmallVector<MicrosoftGroupQueryAttentionOp> windowed;
    for (auto op : function.getOps<MicrosoftGroupQueryAttentionOp>())
      if (isWindowed(op) && canGrow(op))
        windowed.push_back(op);
    if (windowed.empty())
      return;
    const DimExpr length = lengthFor(function, windowed);
    for (MicrosoftGroupQueryAttentionOp op : windowed) {
      for (unsigned number : {kPastKey, kPastValue}) {
        BlockArgument past = pastOf(op, number);
        auto dims = dist::getDims(past.getType());
        dims[kPositions] = length;
        past.setType(
            dist::makeType(getElementTypeOrSelf(past.getType()), dims));
      }
      op.setSlidingWindowCache(0);
      ++numGrown;
    }
    forgetSizes(function, windowed);
    function.setType(FunctionType::get(&getContext(),
                                       function.front().getArgumentTypes(),
                                       function.getResultTypes()));
  }

  /// That the file says of present, which is larger now.
  static void forgetSizes(func::FuncOp function,
                          ArrayRef<MicrosoftGroupQueryAttentionOp> grown) {
    onnx::FunctionInfo info(function);
    for (OpOperand &output :
         function.front().getTerminator()->getOpOperands()) {
      const unsigned number = output.getOperandNumber();
      const TypeAttr declared = info.outputDeclared(number);
      auto type = declared ? dyn_cast<RankedTensorType>(declared.getValue())
                           : RankedTensorType();
      if (!type ||
          !llvm::is_contained(
              grown,
              output.get().getDefiningOp<MicrosoftGroupQueryAttentionOp>()))
        continue;
      SmallVector<int64_t, 4> dims(type.getShape());
      if (int64_t(dims.size()) > kPositions)
        dims[kPositions] = ShapedType::kDynamic;
      info.setOutputDeclared(
          number, RankedTensorType::get(dims, type.getElementType()));
    }
  }
};

} // namespace
} // namespace shardc::import
