//===- RankProgram.cpp - What one rank runs, as an ONNX graph -------------===//

#include "compiler/ranks/RankProgram.h"

#include "dialects/dist/NodeName.h"
#include "dialects/onnx/ElementTypes.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Dynamic.h"

using namespace mlir;

namespace shardc::ranks {

using dist::DimExpr;

RankProgram::RankProgram(func::FuncOp function, const StageRank &rank,
                         int64_t fileRank, Collectives style,
                         WeightStore &weights, ::onnx::GraphProto &graph)
    : writer(graph, function.getContext()), rank(rank), parts(writer, rank),
      collectives(writer, rank, style), function(function), fileRank(fileRank),
      weights(weights) {}

std::string RankProgram::write() {
  writer.findSymbol = [this](StringRef symbol) { findSymbol(symbol); };
  arguments.resize(function.getNumArguments());
  isNeeded.resize(function.getNumArguments());
  // Outputs keep their names.
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    writer.unique(onnx::FunctionInfo(function).outputName(i).getValue());
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    addArgument(i);
  for (Operation &op : function.front().without_terminator()) {
    writer.setNode(nodeName(&op));
    writeOp(op);
    if (!writer.problem.empty() || !weights.problem.empty())
      return writer.problem.empty() ? weights.problem : writer.problem;
  }
  writer.setNode("");
  writeResults();
  finishInputs();
  return writer.problem;
}

//===----------------------------------------------------------------------===//
// Inputs and outputs
//===----------------------------------------------------------------------===//

/// Whether the sizes of all dims that are split are known here.
static bool isSplitByNumbers(const dist::Sharding &sharding) {
  return llvm::all_of(sharding.dims, [](const dist::DimSharding &dim) {
    return !dim.isSplit() || dim.size().asConstant();
  });
}

void RankProgram::addArgument(unsigned number) {
  Value argument = function.getArgument(number);
  const onnx::FunctionInfo info(function);
  const dist::Sharding sharding = dist::getSharding(argument.getType());
  const bool isPart = isSplitByNumbers(sharding);
  const TypeAttr given = info.inputGiven(number);
  Tensor &handed = arguments[number];
  handed = {
      writer.unique(info.inputName(number).getValue()),
      isPart ? localDims(argument) : Dims(dist::getDims(argument.getType())),
      given ? getElementTypeOrSelf(given.getValue()) : elementOf(argument)};
  if (argument.use_empty())
    return;
  isNeeded[number] = true;
  writer.setNode(handed.name);
  Tensor own = writer.cast(handed, elementOf(argument));
  if (!isPart)
    own = parts.cut(
        own, dist::Sharding::replicated(dist::getDims(argument.getType())),
        sharding);
  bind(argument, own);
}

void RankProgram::findSymbol(StringRef symbol) {
  for (auto [number, argument] : llvm::enumerate(function.getArguments())) {
    const dist::Sharding sharding = dist::getSharding(argument.getType());
    const bool isPart = isSplitByNumbers(sharding);
    for (auto [d, size] : llvm::enumerate(dist::getDims(argument.getType()))) {
      if (size.asSymbol() != symbol || (isPart && sharding.dims[d].isSplit()))
        continue;
      isNeeded[number] = true;
      writer.bind(symbol,
                  writer
                      .add("Shape", arguments[number].name, 1,
                           {{"start", int64_t(d)}, {"end", int64_t(d + 1)}})
                      .front());
      return;
    }
  }
}

void RankProgram::finishInputs() {
  std::vector<Port> transfers = std::move(inputs);
  inputs.clear();
  ::onnx::GraphProto described;
  for (auto [number, argument] : llvm::enumerate(function.getArguments())) {
    if (!isNeeded[number])
      continue;
    const dist::Sharding sharding = dist::getSharding(argument.getType());
    Port port{arguments[number].name, "model", {}, {}, {}};
    if (sharding.isSplit() && isSplitByNumbers(sharding))
      port.part = sharding;
    inputs.push_back(port);
    writer.describe(arguments[number], *described.add_input());
  }
  // Those of other stages are in the graph already.
  for (const auto &info : writer.graph.input())
    *described.add_input() = info;
  *writer.graph.mutable_input() = described.input();
  inputs.insert(inputs.end(), transfers.begin(), transfers.end());
}

void RankProgram::addOutput(const Tensor &value, Port port) {
  ::onnx::NodeProto &node = *writer.graph.add_node();
  node.set_op_type("Identity");
  node.set_name(writer.unique(port.name + ".output"));
  node.add_input(value.name);
  node.add_output(port.name);
  Tensor named = value;
  named.name = port.name;
  writer.describe(named, *writer.graph.add_output());
  outputs.push_back(std::move(port));
}

void RankProgram::writeResults() {
  const onnx::FunctionInfo info(function);
  Operation *terminator = function.front().getTerminator();
  for (auto [number, value] : llvm::enumerate(terminator->getOperands())) {
    Tensor result = tensor(value);
    if (TypeAttr given = info.outputGiven(number))
      result = writer.cast(result, getElementTypeOrSelf(given.getValue()));
    const dist::Sharding sharding = dist::getSharding(value.getType());
    Port port{info.outputName(number).str(), "model", {}, {}, {}};
    if (sharding.isSplit())
      port.part = sharding;
    addOutput(result, std::move(port));
  }
}

void RankProgram::writeTransfer(Operation &op) {
  const int64_t transfer = op.getAttrOfType<IntegerAttr>("transfer").getInt();
  const int64_t stage = op.getAttrOfType<IntegerAttr>("stage").getInt();
  const std::string name = "transfer_" + std::to_string(transfer);
  if (isa<dist::SendOp>(op))
    return addOutput(tensor(op.getOperand(0)),
                     {name, "transfer", {}, transfer, stage});
  Value result = op.getResult(0);
  Tensor received{writer.unique(name), localDims(result), elementOf(result)};
  writer.describe(received, *writer.graph.add_input());
  inputs.push_back({received.name, "transfer", {}, transfer, stage});
  bind(result, received);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

SmallVector<Tensor, 4> RankProgram::operands(Operation *op) const {
  SmallVector<Tensor, 4> all;
  for (Value operand : op->getOperands())
    all.push_back(tensor(operand));
  return all;
}

void RankProgram::writeWeight(onnx::WeightOp op) {
  const std::string key =
      op.getName().str() + "\n" + dist::getSharding(op.getType()).str();
  Tensor &known = weightTensors[key];
  if (known.isAbsent()) {
    known = {writer.unique(op.getName()), localDims(op.getResult()),
             elementOf(op.getResult())};
    ::onnx::TensorProto &made = *writer.graph.add_initializer();
    made.set_name(known.name);
    weights.add(op, rank, fileRank, made);
  }
  bind(op.getResult(), known);
}

void RankProgram::writeOp(Operation &op) {
  if (isa<onnx::NoneOp>(op))
    return;
  if (auto guard = dyn_cast<onnx::GuardOp>(op)) {
    guards.push_back(guard.getMessage().str());
    return;
  }
  if (auto weight = dyn_cast<onnx::WeightOp>(op))
    return writeWeight(weight);
  if (auto constant = dyn_cast<onnx::ConstantOp>(op)) {
    Tensor made{writer.unique(nodeName(&op, "constant")),
                localDims(op.getResult(0)), elementOf(op.getResult(0))};
    ::onnx::TensorProto &tensor = *writer.graph.add_initializer();
    tensor.set_name(made.name);
    WeightStore::addConstant(constant, rank, tensor);
    return bind(op.getResult(0), made);
  }
  if (auto read = dyn_cast<onnx::ReadSizesOp>(op)) {
    const Tensor data = writer.cast(
        writer.reshape(tensor(read.getData()),
                       {int64_t(read.getSizes().getValues().size())}),
        writer.i64());
    for (auto [i, size] : llvm::enumerate(read.getSizes().getValues()))
      if (std::optional<StringRef> symbol = size.asSymbol())
        writer.bind(*symbol, writer.slice(data, 0, int64_t(i), 1).name);
    return;
  }
  if (isa<dist::SendOp, dist::ReceiveOp>(op))
    return writeTransfer(op);
  if (op.getNumRegions() > 0)
    return writer.fail(
        op.getName().stripDialect() +
        " depends on data, and its bodies cannot be written for a rank yet; "
        "export the model without it, or run the artifact");
  for (auto write :
       {writeDistOp, writeLayoutOp, writeIndexingOp, writeAttentionOp,
        writeExpertsOp, writeQuantizationOp, writeMathOp})
    if (write(&op, *this))
      return;
  writer.fail(op.getName().stripDialect() +
              " has no spelling for a rank in ONNX's operators yet; run the "
              "artifact instead");
}

/// As ONNX writes it; nothing for what it cannot.
static std::optional<Attribute> convert(StringRef name, mlir::Attribute value) {
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return Attribute{name.str(), integer.getInt()};
  if (auto real = dyn_cast<FloatAttr>(value))
    return Attribute{name.str(), float(real.getValueAsDouble())};
  if (auto text = dyn_cast<StringAttr>(value))
    return Attribute{name.str(), text.str()};
  if (auto list = dyn_cast<DenseI64ArrayAttr>(value))
    return Attribute{name.str(), std::vector<int64_t>(list.asArrayRef().begin(),
                                                      list.asArrayRef().end())};
  return std::nullopt;
}

void RankProgram::makeNode(Operation *op, ArrayRef<Tensor> inputs,
                           ArrayRef<StringRef> attributes,
                           ArrayRef<Attribute> more) {
  SmallVector<Attribute> all(more.begin(), more.end());
  for (StringRef name : attributes)
    if (mlir::Attribute value = op->getAttr(name))
      if (std::optional<Attribute> made = convert(name, value))
        all.push_back(*made);
  std::vector<std::string> names;
  for (const Tensor &input : inputs)
    names.push_back(input.name);
  const std::vector<std::string> outputs =
      writer.add(op->getName().stripDialect(), names, op->getNumResults(), all);
  for (auto [name, result] : llvm::zip(outputs, op->getResults()))
    bind(result, {name, localDims(result), elementOf(result)});
}

} // namespace shardc::ranks
