//===- Probes.cpp - Values between a model's inputs and outputs -----------===//

#include "compiler/probe/Probes.h"

#include "dialects/dist/Dist.h"
#include "dialects/dist/NodeName.h"
#include "dialects/onnx/ElementTypes.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Quantization.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/verify/Terms.h"
#include "passes/verify/VerifyStages.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace shardc::probe {

using verify::Term;

namespace {

bool isProgram(func::FuncOp function) {
  return onnx::FunctionInfo(function).isProgram();
}

/// Weights are what they are, what lowering makes part of a product must stay
/// the product's alone, and no rank ever has all of what comes around a ring or
/// is dispatched.
bool canBeOutput(OpResult value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && dist::getValueAttr(type) &&
         onnx::isStored(type.getElementType()) &&
         !isa<onnx::WeightOp, onnx::ConstantOp, onnx::DequantizeLinearOp,
              dist::RingOp, dist::DispatchOp>(value.getOwner());
}

/// All probes of a pipeline with their values, in order.
class ProbeList {
public:
  explicit ProbeList(ModuleOp module) {
    for (const verify::Pipeline &stages :
         verify::pipelinesOf(module, isProgram)) {
      verify::Terms terms(stages);
      for (func::FuncOp stage : stages)
        for (Operation &op : stage.front())
          add(op, terms);
    }
  }

  std::vector<Probe> probes;
  std::vector<OpResult> values;

private:
  using Numbers = llvm::SmallSetVector<size_t, 4>;

  void add(Operation &op, const verify::Terms &terms) {
    Numbers from;
    for (Value operand : op.getOperands())
      from.insert(sources[operand].begin(), sources[operand].end());
    if (auto send = dyn_cast<dist::SendOp>(op))
      sent[send.getTransfer()] = from;
    if (auto receive = dyn_cast<dist::ReceiveOp>(op))
      from = sent[receive.getTransfer()];
    // A weight or input that is held differently is still what it was.
    const bool isMoved = isa<dist::DistDialect>(op.getDialect()) &&
                         !isa<dist::ReceiveOp>(op) && from.empty();
    for (OpResult result : op.getResults()) {
      sources[result] = from;
      if (isMoved || !canBeOutput(result))
        continue;
      sources[result] = Numbers();
      sources[result].insert(probes.size());
      values.push_back(result);
      probes.push_back(describe(result, terms.of(result)));
      probes.back().from.assign(from.begin(), from.end());
    }
  }

  static Probe describe(OpResult value, Term term) {
    Operation *op = value.getOwner();
    Probe probe;
    probe.term = term;
    probe.node = nodeName(op).str();
    probe.op = op->getName().getStringRef().str();
    if (op->getNumResults() > 1)
      probe.op += " result " + std::to_string(value.getResultNumber());
    llvm::raw_string_ostream os(probe.type);
    os << cast<RankedTensorType>(value.getType()).getElementType() << " [";
    llvm::interleaveComma(dist::getDims(value.getType()), os);
    os << "]";
    if (const dist::Sharding sharding = dist::getSharding(value.getType());
        !sharding.isReplicated())
      probe.sharding = sharding.str();
    probe.stage = onnx::FunctionInfo(op->getParentOp()).stage();
    return probe;
  }

  llvm::DenseMap<Value, Numbers> sources;
  llvm::DenseMap<int64_t, Numbers> sent;
};

/// A value that is no longer partial.
Value summed(Value value, const dist::Mesh &mesh) {
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  auto type = cast<RankedTensorType>(value.getType());
  dist::Sharding sharding = dist::getSharding(type);
  while (sharding.isPartial()) {
    const dist::PartialAxis first = sharding.partial.front();
    sharding.partial.erase(sharding.partial.begin());
    Type after = dist::localize(dist::withSharding(type, sharding), mesh);
    value = dist::AllReduceOp::create(
        builder, value.getLoc(), after, value,
        dist::AxesAttr::get(builder.getContext(), {first.axis}),
        builder.getStringAttr(dist::stringify(first.kind)), StringAttr());
  }
  return value;
}

/// Adds outputs to a stage, numbered as in the whole model.
void addOutputs(func::FuncOp stage,
                ArrayRef<std::pair<int64_t, Value>> outputs) {
  Builder builder(stage.getContext());
  Operation *terminator = stage.front().getTerminator();
  SmallVector<int64_t> numbers;
  SmallVector<Attribute> attributes;
  for (unsigned i = 0; i < stage.getNumResults(); ++i) {
    numbers.push_back(onnx::FunctionInfo(stage).modelOutput(i));
    DictionaryAttr known = stage.getResultAttrDict(i);
    attributes.push_back(known ? known : builder.getDictionaryAttr({}));
  }
  for (auto [number, value] : outputs) {
    numbers.push_back(number);
    attributes.push_back(builder.getDictionaryAttr({}));
    terminator->insertOperands(terminator->getNumOperands(), value);
  }
  stage.setType(FunctionType::get(stage.getContext(), stage.getArgumentTypes(),
                                  terminator->getOperandTypes()));
  stage.setResAttrsAttr(builder.getArrayAttr(attributes));
  onnx::FunctionInfo info(stage);
  info.setModelOutputs(numbers);
  for (auto [i, output] : llvm::enumerate(outputs))
    info.setOutputName(numbers.size() - outputs.size() + i,
                       "probe " + Twine(output.first));
}

} // namespace

bool keepProfile(ModuleOp partitioned, unsigned profile) {
  llvm::SetVector<Attribute> whens;
  for (auto program : partitioned.getOps<func::FuncOp>())
    if (onnx::FunctionInfo info(program); info.isProgram())
      whens.insert(info.when());
  if (profile >= whens.size())
    return false;
  for (auto function :
       llvm::make_early_inc_range(partitioned.getOps<func::FuncOp>()))
    if (onnx::FunctionInfo(function).when() != whens[profile])
      function.erase();
  return true;
}

std::vector<Probe> listProbes(ModuleOp partitioned) {
  return ProbeList(partitioned).probes;
}

void exposeProbes(ModuleOp partitioned, ArrayRef<size_t> numbers) {
  const dist::Mesh &mesh = *dist::getMesh(partitioned).getMesh().getMesh();
  ProbeList list(partitioned);
  int64_t next = 0;
  llvm::MapVector<Operation *, SmallVector<std::pair<int64_t, Value>>> outputs;
  for (auto stage : partitioned.getOps<func::FuncOp>()) {
    if (!isProgram(stage))
      continue;
    outputs[stage];
    for (unsigned i = 0; i < stage.getNumResults(); ++i)
      next = std::max(next, onnx::FunctionInfo(stage).modelOutput(i) + 1);
  }
  for (size_t number : numbers) {
    OpResult value = list.values[number];
    outputs[value.getOwner()->getParentOp()].emplace_back(next++,
                                                          summed(value, mesh));
  }
  for (auto &[stage, added] : outputs) {
    addOutputs(cast<func::FuncOp>(stage), added);
    // Probes are not cut along a batch.
    onnx::FunctionInfo(stage).removeBatchInputs();
  }
  // What the program computes from now on, which phase lowered looks for.
  auto profiles = verify::pipelinesOf(
      partitioned, [](func::FuncOp function) { return isProgram(function); });
  for (auto [number, stages] : llvm::enumerate(profiles)) {
    const std::string fingerprint =
        verify::Terms(stages).fingerprint(number, profiles.size());
    for (func::FuncOp stage : stages)
      onnx::FunctionInfo(stage).setFingerprint(fingerprint);
  }
}

} // namespace shardc::probe
