//===- VerifyStages.cpp - The stages of a pipeline fit together -----------===//

#include "passes/verify/VerifyStages.h"

#include "dialects/dist/Dist.h"
#include "dialects/onnx/FunctionInfo.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace shardc::verify {

std::vector<Pipeline>
pipelinesOf(ModuleOp module, llvm::function_ref<bool(func::FuncOp)> isPart) {
  llvm::MapVector<Attribute, Pipeline> staged;
  std::vector<Pipeline> pipelines;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!isPart(function))
      continue;
    if (onnx::FunctionInfo info(function); info.isStage())
      staged[info.when()].push_back(function);
    else
      pipelines.push_back({function});
  }
  for (auto &[when, stages] : staged) {
    llvm::stable_sort(stages, [](func::FuncOp a, func::FuncOp b) {
      return onnx::FunctionInfo(a).stage() < onnx::FunctionInfo(b).stage();
    });
    pipelines.push_back(stages);
  }
  return pipelines;
}

static LogicalResult verifyReceive(dist::ReceiveOp receive, int64_t stage,
                                   dist::SendOp send) {
  if (!send)
    return receive.emitError("receives transfer ")
           << receive.getTransfer() << ", which no stage before sends";
  InFlightDiagnostic diagnostic = receive.emitError("does not fit its send: ");
  diagnostic.attachNote(send.getLoc()) << "sent here";
  if (static_cast<int64_t>(send.getStage()) != stage)
    return diagnostic << "that is for stage " << send.getStage();
  const int64_t from = onnx::FunctionInfo(send->getParentOp()).stage();
  if (static_cast<int64_t>(receive.getStage()) != from)
    return diagnostic << "that is in stage " << from;
  if (send.getOperand().getType() != receive.getType())
    return diagnostic << "that is of " << send.getOperand().getType();
  diagnostic.abandon();
  return success();
}

static LogicalResult verifyOutputs(ArrayRef<func::FuncOp> stages) {
  llvm::DenseSet<int64_t> outputs;
  int64_t largest = -1;
  for (func::FuncOp stage : stages)
    for (unsigned i = 0; i < stage.getNumResults(); ++i) {
      int64_t output = onnx::FunctionInfo(stage).modelOutput(i);
      largest = std::max(largest, output);
      if (!outputs.insert(output).second)
        return stage.emitError("makes output ")
               << output << ", which an earlier stage makes";
    }
  if (static_cast<int64_t>(outputs.size()) != largest + 1)
    return stages.front()->emitError("belongs to a pipeline without one of the "
                                     "model's outputs");
  return success();
}

/// Every stage has all inputs of the model, under the same names.
static LogicalResult verifyInputs(ArrayRef<func::FuncOp> stages) {
  func::FuncOp first = stages.front();
  for (func::FuncOp stage : stages.drop_front()) {
    bool isSame = stage.getNumArguments() == first.getNumArguments();
    for (unsigned i = 0; isSame && i < stage.getNumArguments(); ++i) {
      Type type = stage.getArgumentTypes()[i];
      Type expected = first.getArgumentTypes()[i];
      isSame = onnx::FunctionInfo(stage).inputName(i) ==
                   onnx::FunctionInfo(first).inputName(i) &&
               getElementTypeOrSelf(type) == getElementTypeOrSelf(expected) &&
               dist::getDims(type) == dist::getDims(expected);
    }
    if (!isSame) {
      InFlightDiagnostic diagnostic =
          stage.emitError("has other inputs than the first stage");
      diagnostic.attachNote(first.getLoc()) << "the first stage";
      return diagnostic;
    }
  }
  return success();
}

LogicalResult verifyTransfers(ArrayRef<func::FuncOp> stages) {
  if (failed(verifyInputs(stages)))
    return failure();
  llvm::DenseMap<int64_t, dist::SendOp> sent;
  llvm::DenseSet<int64_t> received;
  for (size_t number = 0; number < stages.size(); ++number) {
    func::FuncOp stage = stages[number];
    if (onnx::FunctionInfo(stage).stage() != static_cast<int64_t>(number))
      return stage.emitError("is not stage ") << number << " of its pipeline";
    for (auto receive : stage.getOps<dist::ReceiveOp>()) {
      if (!received.insert(receive.getTransfer()).second)
        return receive.emitError("receives transfer ")
               << receive.getTransfer() << " again";
      if (failed(verifyReceive(receive, number,
                               sent.lookup(receive.getTransfer()))))
        return failure();
    }
    for (auto send : stage.getOps<dist::SendOp>())
      if (!sent.try_emplace(send.getTransfer(), send).second)
        return send.emitError("sends transfer ")
               << send.getTransfer() << " again";
  }
  for (auto [transfer, send] : sent)
    if (!received.contains(transfer))
      return send.emitError("sends transfer ")
             << transfer << ", which no stage receives";
  return verifyOutputs(stages);
}

} // namespace shardc::verify
