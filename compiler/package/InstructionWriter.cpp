#include "compiler/package/InstructionWriter.h"

#include "dialects/dist/NodeName.h"

using namespace mlir;

namespace shardc::package {

using dist::DimExpr;

LogicalResult InstructionWriter::add(Operation &op) {
  if (auto call = dyn_cast<rt::CallOp>(op))
    return addCall(call);
  if (auto collective = dyn_cast<rt::CollectiveOp>(op))
    addCollective(collective);
  else if (auto wait = dyn_cast<rt::WaitOp>(op))
    addWait(wait);
  else if (auto read = dyn_cast<rt::ReadSizesOp>(op))
    addReadSizes(read);
  else if (auto set = dyn_cast<rt::SetSizesOp>(op))
    addSetSizes(set);
  else if (auto send = dyn_cast<rt::SendOp>(op))
    addTransfer(op, artifact::kSend, send.getView(), {}, send.getStage(),
                send.getTransfer());
  else if (auto receive = dyn_cast<rt::ReceiveOp>(op))
    addTransfer(op, artifact::kReceive, {}, receive.getView(),
                receive.getStage(), receive.getTransfer());
  else // brackets, which the artifact has by the same names
    addInstruction(&op, op.getName().stripDialect(), op.getOperands(), {}, {},
                   -1);
  return success();
}

void InstructionWriter::addInstruction(Operation *op, StringRef kernel,
                                       ValueRange ins, ValueRange outs,
                                       Offsets<artifact::Attribute> attributes,
                                       int32_t group) {
  (isLoading ? load : run)
      .push_back(artifact::CreateInstruction(
          builder, builder.CreateString(kernel.str()),
          builder.CreateVector(values.viewList(ins)),
          builder.CreateVector(values.viewList(outs)),
          builder.CreateVector(attributes),
          builder.CreateString(nodeName(op).str()), group));
}

LogicalResult InstructionWriter::addCall(rt::CallOp op) {
  Offsets<artifact::Attribute> attributes;
  for (NamedAttribute named : op.getConfig()) {
    auto made = tables.attribute(op, named);
    if (failed(made))
      return failure();
    attributes.push_back(*made);
  }
  addInstruction(op, op.getKernel(), op.getInputs(), op.getOutputs(),
                 attributes, -1);
  return success();
}

int32_t InstructionWriter::group(dist::AxesAttr axes) {
  auto [it, isNew] = groupNumbers.try_emplace(axes, groups.size());
  if (!isNew)
    return it->second;
  Offsets<artifact::AxisPart> parts;
  for (const dist::AxisRef &axis : axes.getAxes())
    for (size_t a = 0; a < tables.mesh.axes.size(); ++a)
      if (tables.mesh.axes[a].name == axis.name)
        parts.push_back(
            artifact::CreateAxisPart(builder, a, axis.pre, axis.size));
  groups.push_back(artifact::CreateGroup(builder, builder.CreateVector(parts)));
  return it->second;
}

void InstructionWriter::addNumber(Offsets<artifact::Attribute> &attributes,
                                  const char *name, int64_t value) {
  attributes.push_back(artifact::CreateAttribute(
      builder, builder.CreateString(name),
      builder.CreateVector(std::vector<int64_t>{value})));
}

/// Their number; where ranks have unequal parts, the first of each rank too.
std::vector<int64_t> InstructionWriter::expertsOf(rt::CollectiveOp op) const {
  const SmallVector<dist::AxisRef, 2> axes = op.getAxes().getAxes();
  const auto experts = static_cast<int64_t>(*op.getExperts());
  if (!dist::hasShares(axes, tables.mesh))
    return {experts};
  const auto parts = dist::boundsOf(axes, tables.mesh);
  std::vector<int64_t> bounds;
  for (int64_t begin : parts)
    bounds.push_back(*DimExpr::floorDiv(DimExpr(begin) * experts, parts.back())
                          .asConstant());
  return bounds;
}

void InstructionWriter::addCollective(rt::CollectiveOp op) {
  Offsets<artifact::Attribute> attributes;
  if (op.getKindAttr())
    attributes.push_back(artifact::CreateAttribute(
        builder, builder.CreateString("kind"), 0, 0, 0,
        builder.CreateString(op.getKind()->str())));
  std::vector<int64_t> dims;
  Offsets<artifact::DimLayout> layouts;
  auto addDim = [&](int64_t dim, dist::ValueAttr value) {
    dims.push_back(dim);
    layouts.push_back(tables.dimLayout(value.getSharding()->dims[dim],
                                       op.getAxes().getAxes()));
  };
  if (op.getDimAttr())
    addDim(*op.getDim(), op.getValueAttr());
  if (op.getToDimAttr())
    addDim(*op.getToDim(), op.getToValueAttr());
  if (!dims.empty()) {
    attributes.push_back(artifact::CreateAttribute(
        builder, builder.CreateString("dim"), builder.CreateVector(dims)));
    attributes.push_back(
        artifact::CreateAttribute(builder, builder.CreateString("layout"), 0, 0,
                                  0, 0, builder.CreateVector(layouts)));
  }
  if (op.getFlight())
    addNumber(attributes, artifact::kFlight, *op.getFlight());
  if (op.getDistanceAttr())
    addNumber(attributes, "distance", *op.getDistance());
  SmallVector<Value, 2> inputs{op.getInput()};
  if (op.getChoices()) {
    inputs.push_back(op.getChoices());
    attributes.push_back(
        artifact::CreateAttribute(builder, builder.CreateString("experts"),
                                  builder.CreateVector(expertsOf(op))));
  }
  addInstruction(op, op.getKernel(), inputs, op.getOutput(), attributes,
                 group(op.getAxes()));
}

void InstructionWriter::addReadSizes(rt::ReadSizesOp op) {
  for (DimExpr size : op.getSizes().getValues())
    if (std::optional<StringRef> name = size.asSymbol();
        name && !values.symbolSources.contains(*name))
      if (auto &binders = symbolBinders[*name]; binders.empty())
        binders.push_back(numbers.of(op));
  Offsets<artifact::Attribute> sizes{
      artifact::CreateAttribute(builder, builder.CreateString("sizes"), 0,
                                tables.scalarList(op.getSizes().getValues()))};
  addInstruction(op, artifact::kReadSizes, op.getView(), {}, sizes, -1);
}

void InstructionWriter::addSetSizes(rt::SetSizesOp op) {
  for (DimExpr size : op.getSizes().getValues())
    symbolBinders[*size.asSymbol()].push_back(numbers.of(op));
  Offsets<artifact::Attribute> attributes;
  for (auto [name, list] :
       {std::pair("sizes", op.getSizes()), std::pair("values", op.getValues())})
    attributes.push_back(
        artifact::CreateAttribute(builder, builder.CreateString(name), 0,
                                  tables.scalarList(list.getValues())));
  addInstruction(op, artifact::kSetSizes, {}, {}, attributes, -1);
}

void InstructionWriter::addWait(rt::WaitOp op) {
  Offsets<artifact::Attribute> attributes;
  addNumber(attributes, artifact::kFlight, op.getFlight());
  addInstruction(op, artifact::kWait, op.getInputs(), op.getOutput(),
                 attributes, -1);
}

void InstructionWriter::addTransfer(Operation &op, StringRef kernel,
                                    ValueRange ins, ValueRange outs,
                                    int64_t stage, int64_t transfer) {
  Offsets<artifact::Attribute> attributes;
  addNumber(attributes, "stage", stage);
  addNumber(attributes, "transfer", transfer);
  addInstruction(&op, kernel, ins, outs, attributes, -1);
}

} // namespace shardc::package
