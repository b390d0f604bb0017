//===- KeepSumsWhole.cpp - The same bits under any plan -------------------===//
//
// Marks ops whose sums may not be shared out (dialects/onnx/WholeSums.h). What
// follows for plans, proofs and kernels is theirs to say.
//
//   y = MatMul x, w      y = MatMul x, w {onnx.whole_sums}
//
//===----------------------------------------------------------------------===//

#include "passes/import/Passes.h"

#include "dialects/onnx/WholeSums.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_KEEPSUMSWHOLE
#include "passes/import/Passes.h.inc"

namespace {

struct KeepSumsWhole : impl::KeepSumsWholeBase<KeepSumsWhole> {
  using KeepSumsWholeBase::KeepSumsWholeBase;

  void runOnOperation() override {
    unsigned left = spared; // of a test
    getOperation()->setAttr(onnx::kWholeSumsAttr, UnitAttr::get(&getContext()));
    getOperation().walk([&](onnx::OnnxOp op) {
      if (!onnx::mayShareSums(op) || (left > 0 && left-- == 1))
        return;
      op->setAttr(onnx::kWholeSumsAttr, UnitAttr::get(op->getContext()));
      ++numMarked;
    });
  }
};

} // namespace
} // namespace shardc::import
