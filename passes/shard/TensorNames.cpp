//===- TensorNames.cpp - What the model's file calls a value --------------===//

#include "passes/shard/TensorNames.h"

#include "dialects/dist/Dist.h"
#include "dialects/dist/NodeName.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Source.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace shardc::shard {

/// Changes how a value is held.
static bool isOfDist(Operation *op) {
  return isa_and_nonnull<dist::DistDialect>(op->getDialect());
}

/// Whether another node uses the value, as it is or held in another way.
static bool isUsedOutside(Value value, StringRef node) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return isOfDist(user) ? user->getNumResults() == 0 ||
                                isUsedOutside(user->getResult(0), node)
                          : nodeName(user) != node;
  });
}

/// What a value is made of by changes of how it is held.
static Value producedBy(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isOfDist(op) || op->getNumOperands() == 0)
      break;
    value = op->getOperand(0);
  }
  return value;
}

TensorNames::TensorNames(func::FuncOp function, const OutputsOfNode &outputs) {
  for (Value argument : function.getArguments()) {
    const unsigned number = cast<BlockArgument>(argument).getArgNumber();
    if (StringAttr name = onnx::FunctionInfo(function).inputName(number))
      names[argument] = name.str();
  }
  Operation *terminator = function.front().getTerminator();
  for (OpOperand &result : terminator->getOpOperands())
    if (StringAttr name =
            onnx::FunctionInfo(function).outputName(result.getOperandNumber()))
      if (Value value = producedBy(result.get()); value.getDefiningOp())
        names.try_emplace(value, name.str());
  llvm::MapVector<StringRef, SmallVector<Operation *, 2>> ofNode;
  for (Operation &op : function.front().without_terminator()) {
    if (isOfDist(&op))
      continue;
    if (auto weight = dyn_cast<onnx::WeightOp>(op))
      names[weight.getResult()] = weight.getName().str();
    else
      ofNode[nodeName(&op)].push_back(&op);
  }
  for (const auto &[node, ops] : ofNode) {
    auto known = outputs.find(node);
    if (known != outputs.end())
      nameResults(node, ops, known->second);
    // An initializer is at a location of its own name.
    else if (isa<onnx::ConstantOp>(ops.front()) && !node.empty())
      names[ops.front()->getResult(0)] = node.str();
  }
}

void TensorNames::nameResults(StringRef node, ArrayRef<Operation *> ops,
                              ArrayRef<std::string> outputs) {
  if (ops.size() == 1 && ops.front()->getNumResults() >= outputs.size()) {
    for (auto [output, result] :
         llvm::zip_first(outputs, ops.front()->getResults()))
      if (!output.empty())
        names[result] = output;
    return;
  }
  // Outputs of the model are known already.
  SmallVector<Value, 2> used;
  llvm::StringSet<> taken;
  for (Operation *op : ops)
    for (Value result : op->getResults()) {
      if (auto known = names.find(result); known != names.end())
        taken.insert(known->second);
      else if (isUsedOutside(result, node))
        used.push_back(result);
    }
  SmallVector<StringRef, 2> left;
  for (const std::string &output : outputs)
    if (!output.empty() && !taken.contains(output))
      left.push_back(output);
  if (used.size() == 1 && left.size() == 1)
    names[used.front()] = left.front().str();
}

StringRef TensorNames::nameOf(Value value) const {
  auto known = names.find(producedBy(value));
  return known == names.end() ? StringRef() : StringRef(known->second);
}

} // namespace shardc::shard
