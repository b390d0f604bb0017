//===- FunctionGraph.cpp - The graph of a function ------------------------===//

#include "passes/shard/FunctionGraph.h"

#include "dialects/dist/NodeName.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/WholeSums.h"
#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Cache.h"
#include "dialects/onnx/ops/Pages.h"
#include "dialects/onnx/ops/Quantization.h"
#include "dialects/onnx/ops/Source.h"

using namespace mlir;

namespace shardc::shard {

using plan::OpKind;

FunctionGraph::FunctionGraph(func::FuncOp function,
                             std::function<int64_t(StringRef)> nominal,
                             const EqualLayers *layers)
    : graph(std::move(nominal)) {
  for (Value argument : function.getArguments())
    numberOf(argument);
  for (Operation &op : function.getOps()) {
    Operation *kept = layers ? layers->representative(&op) : &op;
    if (kept != &op) {
      // Who uses a weight of that layer is not there either.
      for (auto [own, other] : llvm::zip(op.getResults(), kept->getResults()))
        if (auto known = numbers.find(other); known != numbers.end())
          numbers[own] = known->second;
    } else if (auto onnxOp = dyn_cast<onnx::OnnxOp>(op))
      addOp(onnxOp, layers);
    else if (!isa<onnx::NoneOp, onnx::GuardOp, func::ReturnOp>(op))
      op.emitWarning("has no sharding rule: it runs whole on every rank");
  }
  for (OpOperand &output : function.front().getTerminator()->getOpOperands())
    if (auto it = numbers.find(output.get()); it != numbers.end())
      graph.markReturned(it->second, onnx::FunctionInfo(function)
                                         .cache(output.getOperandNumber())
                                         .has_value());
  graph.finish();
}

plan::OpNames FunctionGraph::names() const {
  plan::OpNames names;
  for (Operation *op : ops) {
    auto weight = dyn_cast<onnx::WeightOp>(op);
    names.nodes.push_back(weight ? weight.getName().str() : nodeName(op).str());
    names.operators.push_back(op->getName().stripDialect().str());
  }
  return names;
}

unsigned FunctionGraph::numberOf(Value value) {
  auto known = numbers.find(value);
  if (known != numbers.end())
    return known->second;
  values.push_back(value);
  const Type element = cast<RankedTensorType>(value.getType()).getElementType();
  const int64_t bits =
      element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 8;
  // Truth values take a byte.
  return numbers[value] = graph.addValue(dist::getDims(value.getType()),
                                         bits == 1 ? 8 : bits);
}

static OpKind kindOf(Operation *op) {
  if (isa<onnx::WeightOp>(op))
    return OpKind::Weight;
  if (isa<onnx::ConstantOp, onnx::SymbolsOp>(op))
    return OpKind::Constant;
  if (isa<onnx::DequantizeLinearOp>(op))
    return OpKind::Dequantize;
  if (isa<onnx::CacheAppendOp, onnx::PageWriteOp>(op))
    return OpKind::CacheAppend;
  return isa<onnx::AttentionOp, onnx::PagedAttentionOp,
             onnx::PagedAttentionPartsOp>(op)
             ? OpKind::Attention
             : OpKind::Other;
}

void FunctionGraph::addOp(onnx::OnnxOp op, const EqualLayers *layers) {
  plan::GraphOp added;
  added.kind = kindOf(op);
  if (layers) {
    added.count = layers->count(op);
    added.layer = layers->layerOf(op);
  }
  if (auto attention = dyn_cast<onnx::AttentionOp>(op.getOperation()))
    added.isCausal = attention.getIsCausal();
  if (auto attention = dyn_cast<onnx::PagedAttentionOp>(op.getOperation()))
    added.isCausal = attention.getIsCausal() != 0;
  if (auto parts = dyn_cast<onnx::PagedAttentionPartsOp>(op.getOperation()))
    added.isCausal = parts.getIsCausal() != 0;
  added.isPaged = isa<onnx::PagedAttentionOp, onnx::PagedAttentionPartsOp>(op);
  added.partialRule = onnx::partialRuleOf(op);
  added.work = op.multiplyAdds();
  for (Value operand : op->getOperands())
    added.operandValues.push_back(isa<RankedTensorType>(operand.getType())
                                      ? numberOf(operand)
                                      : plan::kNoValue);
  for (Value result : op->getResults())
    added.resultValues.push_back(numberOf(result));
  graph.keepsSumsWhole |= onnx::hasWholeSums(op);
  ops.push_back(op);
  graph.addOp(std::move(added), onnx::ruleOf(op));
}

} // namespace shardc::shard
