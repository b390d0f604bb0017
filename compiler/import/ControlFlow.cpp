//===- ControlFlow.cpp - If, Loop and Scan with their bodies --------------===//
//
// The part of GraphImporter for nodes that have graphs. A body sees the values
// around it; its own names end with it.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/GraphImporter.h"

#include "dialects/onnx/ops/ControlFlow.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;
using ::onnx::ValueInfoProto;

namespace shardc::importer {

bool GraphImporter::isControlFlow(const NodeProto &node) {
  return llvm::is_contained({"If", "Loop", "Scan"}, node.op_type());
}

static const AttributeProto *findAttribute(const NodeProto &node,
                                           StringRef name) {
  for (const AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

/// The graphs of a node in the order of the op's regions; none if one lacks.
static SmallVector<const GraphProto *, 2> bodiesOf(const NodeProto &node) {
  SmallVector<StringRef, 2> names{"body"};
  if (node.op_type() == "If")
    names = {"then_branch", "else_branch"};
  SmallVector<const GraphProto *, 2> bodies;
  for (StringRef name : names) {
    const AttributeProto *attribute = findAttribute(node, name);
    if (!attribute || !attribute->has_g())
      return {};
    bodies.push_back(&attribute->g());
  }
  return bodies;
}

/// Only the number of dims is believed: scalars and vectors of one element are
/// both in use for a loop's counter and condition.
static Type argumentType(const ValueInfoProto &input, Type unknown) {
  const auto &type = input.type().tensor_type();
  return type.has_shape() && type.shape().dim_size() == 1
             ? Type(RankedTensorType::get(
                   {1}, onnx::UnknownType::get(unknown.getContext())))
             : unknown;
}

LogicalResult GraphImporter::addBody(const GraphProto &body, Region &region) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<const ValueInfoProto *> inputs = runtimeInputs(body);
  SmallVector<Type> types;
  SmallVector<Location> locs;
  for (const ValueInfoProto *input : inputs) {
    types.push_back(argumentType(*input, unknownType()));
    locs.push_back(locOf(input->name()));
  }
  Block *block = builder.createBlock(&region, {}, types, locs);
  for (const auto &sparse : body.sparse_initializer())
    unsupported.addType("sparse", locOf(sparse.values().name()));
  SmallVector<std::pair<StringRef, Value>> before;
  auto *outer = std::exchange(undo, &before);
  auto outerInitializers = initializers;
  for (const TensorProto &tensor : body.initializer()) {
    initializers[tensor.name()] = &tensor;
    setValue(tensor.name(), Value()); // read when first used
  }
  for (auto [input, argument] : llvm::zip(inputs, block->getArguments()))
    setValue(input->name(), argument);
  for (const NodeProto &node : body.node())
    if (failed(addNode(node)))
      return failure();
  SmallVector<Value> results;
  for (const ValueInfoProto &output : body.output()) {
    results.push_back(valueOf(output.name(), locOf(output.name())));
    if (!results.back())
      return failure();
  }
  onnx::YieldOp::create(builder, region.getLoc(), results);
  // Names of a body end with it; another one may use them again.
  undo = outer;
  initializers = std::move(outerInitializers);
  for (auto [name, value] : llvm::reverse(before))
    values[name] = value;
  return success();
}

LogicalResult GraphImporter::addControlFlow(const NodeProto &node) {
  NameLoc loc = locOf(node);
  SmallVector<const GraphProto *, 2> bodies = bodiesOf(node);
  if (bodies.empty())
    return emitError(loc) << node.op_type()
                          << " lacks one of its graphs; export the model again";
  OperationState state(loc, "onnx." + node.op_type());
  for (const std::string &name : node.input()) {
    state.operands.push_back(name.empty() ? none() : valueOf(name, loc));
    if (!state.operands.back())
      return failure();
  }
  if (node.op_type() == "Loop") {
    while (state.operands.size() < 2)
      state.operands.push_back(none());
    // The body's first output is the condition, then come the carried values.
    int64_t carried = state.operands.size() - 2;
    state.addAttribute(
        "num_scans",
        builder.getI64IntegerAttr(bodies[0]->output_size() - 1 - carried));
  }
  for (const AttributeProto &attribute : node.attribute()) {
    std::string why;
    if (!attribute.has_g())
      if (Attribute value = convertAttribute(context, file, attribute, why))
        state.addAttribute(attribute.name(), value);
  }
  state.types.assign(bodies[0]->output_size() -
                         (node.op_type() == "Loop" ? 1 : 0),
                     unknownType());
  for (size_t i = 0; i < bodies.size(); ++i)
    state.addRegion();
  Operation *op = builder.create(state);
  for (auto [body, region] : llvm::zip(bodies, op->getRegions()))
    if (failed(addBody(*body, region)))
      return failure();
  for (int i = 0; i < node.output_size(); ++i)
    if (!node.output(i).empty())
      setValue(node.output(i), op->getResult(i));
  return success();
}

} // namespace shardc::importer
