//===- FunctionGraph.cpp - The graph of a function ------------------------===//

#include "passes/shard/FunctionGraph.h"

#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Cache.h"
#include "dialects/onnx/ops/Source.h"

using namespace mlir;

namespace shardc::shard {

using plan::OpKind;

FunctionGraph::FunctionGraph(func::FuncOp function,
                             std::function<int64_t(StringRef)> nominal)
    : graph(std::move(nominal)) {
  for (Value argument : function.getArguments())
    numberOf(argument);
  for (Operation &op : function.getOps()) {
    if (auto onnxOp = dyn_cast<onnx::OnnxOp>(op))
      addOp(onnxOp);
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

unsigned FunctionGraph::numberOf(Value value) {
  auto known = numbers.find(value);
  if (known != numbers.end())
    return known->second;
  values.push_back(value);
  return numbers[value] = graph.addValue(dist::getDims(value.getType()));
}

static OpKind kindOf(Operation *op) {
  if (isa<onnx::WeightOp>(op))
    return OpKind::Weight;
  if (isa<onnx::ConstantOp, onnx::SymbolsOp>(op))
    return OpKind::Constant;
  if (isa<onnx::CacheAppendOp>(op))
    return OpKind::CacheAppend;
  return isa<onnx::AttentionOp>(op) ? OpKind::Attention : OpKind::Other;
}

void FunctionGraph::addOp(onnx::OnnxOp op) {
  plan::GraphOp added;
  added.kind = kindOf(op);
  if (auto attention = dyn_cast<onnx::AttentionOp>(op.getOperation()))
    added.isCausal = attention.getIsCausal();
  added.partialRule = op.partialRule();
  added.work = op.multiplyAdds();
  for (Value operand : op->getOperands())
    added.operandValues.push_back(isa<RankedTensorType>(operand.getType())
                                      ? numberOf(operand)
                                      : plan::kNoValue);
  for (Value result : op->getResults())
    added.resultValues.push_back(numberOf(result));
  ops.push_back(op);
  graph.addOp(std::move(added), op.shardingRule());
}

} // namespace shardc::shard
