//===- SpecializeBranches.cpp - Branches that an input decides ------------===//
//
// A merged decoder is one If on an input. Each value of the input has a
// function of its own, in which the condition is a constant.
//
//===----------------------------------------------------------------------===//

#include "passes/import/Passes.h"

#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/ControlFlow.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Source.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_SPECIALIZEBRANCHES
#include "passes/import/Passes.h.inc"

using namespace onnx;

namespace {

/// More would be 2^n functions of the whole model.
constexpr unsigned kMaxInputs = 3;

/// The boolean input of one element that decides the value, null if none does.
BlockArgument decidingInput(Value condition) {
  while (Operation *op = condition.getDefiningOp()) {
    if (!isa<IdentityOp, CastOp, NotOp, SqueezeOp, UnsqueezeOp, ReshapeOp,
             FlattenOp, GatherOp>(op))
      return BlockArgument();
    condition = op->getOperand(0);
  }
  auto input = cast<BlockArgument>(condition);
  auto type = dyn_cast<RankedTensorType>(input.getType());
  bool decides = isa<func::FuncOp>(input.getOwner()->getParentOp()) && type &&
                 type.getElementType().isInteger(1) && type.hasStaticShape() &&
                 type.getNumElements() == 1;
  return decides ? input : BlockArgument();
}

/// The function where these inputs have these values, bit i for input i.
void fix(func::FuncOp function, ArrayRef<unsigned> inputs, unsigned values) {
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  NamedAttrList when;
  for (auto [i, number] : llvm::enumerate(inputs)) {
    BlockArgument input = function.getArgument(number);
    bool value = values >> i & 1;
    auto type = cast<RankedTensorType>(input.getType());
    auto plain = RankedTensorType::get(type.getShape(), type.getElementType());
    auto constant = ConstantOp::create(builder, input.getLoc(), input.getType(),
                                       DenseElementsAttr::get(plain, value));
    input.replaceAllUsesWith(constant);
    when.append(onnx::FunctionInfo(function).inputName(number),
                builder.getBoolAttr(value));
  }
  onnx::FunctionInfo(function).setWhen(
      when.getDictionary(function.getContext()));
}

struct SpecializeBranches : impl::SpecializeBranchesBase<SpecializeBranches> {
  void runOnOperation() override {
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (failed(run(function)))
        return signalPassFailure();
  }

private:
  LogicalResult run(func::FuncOp function) {
    SmallVector<unsigned> inputs;
    function.walk([&](IfOp op) {
      BlockArgument input = decidingInput(op.getCondition());
      if (input && !llvm::is_contained(inputs, input.getArgNumber()))
        inputs.push_back(input.getArgNumber());
    });
    if (inputs.size() > kMaxInputs)
      return function.emitError("has branches on ")
             << inputs.size() << " inputs, expected at most " << kMaxInputs
             << "; export some of them as constants";
    if (inputs.empty())
      return success();
    OpBuilder builder(function);
    builder.setInsertionPointAfter(function);
    for (unsigned values = 1; values < 1u << inputs.size(); ++values) {
      auto special = cast<func::FuncOp>(builder.clone(*function));
      special.setSymName((function.getSymName() + "_" + Twine(values)).str());
      fix(special, inputs, values);
      ++numFunctions;
    }
    fix(function, inputs, 0);
    return success();
  }
};

} // namespace
} // namespace shardc::import
