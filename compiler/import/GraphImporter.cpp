//===- GraphImporter.cpp - ONNX's nodes become ops ------------------------===//

#include "compiler/import/GraphImporter.h"

#include "compiler/import/Annotations.h"
#include "compiler/import/InputTypes.h"
#include "compiler/import/WeightPattern.h"
#include "dialects/onnx/ElementTypes.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/Onnx.h"
#include "dialects/onnx/ops/Source.h"
#include "dialects/onnx/ops/microsoft/Microsoft.h"

using namespace mlir;
using ::onnx::AttributeProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;
using ::onnx::ValueInfoProto;

namespace shardc::importer {

SmallVector<const ValueInfoProto *>
runtimeInputs(const ::onnx::GraphProto &graph) {
  llvm::DenseSet<StringRef> initialized;
  for (const TensorProto &tensor : graph.initializer())
    initialized.insert(tensor.name());
  SmallVector<const ValueInfoProto *> inputs;
  for (const ValueInfoProto &input : graph.input())
    if (!initialized.contains(input.name()))
      inputs.push_back(&input);
  return inputs;
}

std::optional<RegisteredOperationName> nativeName(MLIRContext *context,
                                                  StringRef opType) {
  SmallString<64> name("onnx.");
  name += opType;
  return RegisteredOperationName::lookup(name, context);
}

GraphImporter::GraphImporter(ModelFile &file, const Opsets &opsets,
                             ModuleOp module)
    : file(file), graph(file.model.graph()), opsets(opsets), module(module),
      context(module.getContext()), builder(context),
      operandTypes(graph, opsets) {
  for (const TensorProto &tensor : graph.initializer())
    initializers[tensor.name()] = &tensor;
  for (const auto &sparse : graph.sparse_initializer())
    unsupported.addType("sparse", locOf(sparse.values().name()));
}

NameLoc GraphImporter::locOf(StringRef name) {
  return NameLoc::get(builder.getStringAttr(name));
}

NameLoc GraphImporter::locOf(const NodeProto &node) {
  return locOf(nodeText(node));
}

LogicalResult GraphImporter::run(Unsupported *found) {
  reportsAll = found != nullptr;
  if (failed(addInputs()))
    return failure();
  for (const NodeProto &node : graph.node())
    if (failed(addNode(node)))
      return failure();
  if (failed(addOutputs()))
    return failure();
  if (!found)
    return unsupported.report(module.getLoc());
  *found = std::move(unsupported);
  return success(!hasBadTensor);
}

//===----------------------------------------------------------------------===//
// Function and its signature
//===----------------------------------------------------------------------===//

LogicalResult GraphImporter::addInputs() {
  SmallVector<const ValueInfoProto *> inputs = runtimeInputs(graph);
  InputDims dims(inputs);
  SmallVector<Type> types;
  SmallVector<Location> locs;
  for (const ValueInfoProto *input : inputs) {
    int32_t type = input->type().tensor_type().elem_type();
    Type element = elementType(context, type);
    if (!element || !onnx::isStored(element))
      unsupported.addType(elementName(type), locOf(input->name()));
    types.push_back(element ? dist::makeType(element, dims.of(*input))
                            : unknownType());
    locs.push_back(locOf(input->name()));
  }

  builder.setInsertionPointToEnd(module.getBody());
  main = func::FuncOp::create(builder, module.getLoc(), "main",
                              builder.getFunctionType(types, {}));
  Block *body = builder.createBlock(&main.getBody(), {}, types, locs);
  for (auto [input, value] : llvm::zip(inputs, body->getArguments())) {
    values[input->name()] = value;
    onnx::FunctionInfo(main).setInputName(value.getArgNumber(), input->name());
  }
  return success();
}

/// Of which sizes that are no numbers are unknown. Null where the element is.
static Type declaredType(MLIRContext *context, const ValueInfoProto &output) {
  const auto &tensor = output.type().tensor_type();
  const Type element = elementType(context, tensor.elem_type());
  if (!element || !tensor.has_shape())
    return element ? UnrankedTensorType::get(element) : Type();
  SmallVector<int64_t, 4> dims;
  for (const auto &dim : tensor.shape().dim())
    dims.push_back(dim.has_dim_value() && dim.dim_value() >= 0
                       ? dim.dim_value()
                       : ShapedType::kDynamic);
  return RankedTensorType::get(dims, element);
}

LogicalResult GraphImporter::addOutputs() {
  SmallVector<Value> results;
  for (const ValueInfoProto &output : graph.output()) {
    Value value = valueOf(output.name(), locOf(output.name()));
    if (!value)
      return failure();
    results.push_back(value);
  }
  func::ReturnOp::create(builder, module.getLoc(), results);
  main.setFunctionType(builder.getFunctionType(main.getArgumentTypes(),
                                               TypeRange(ValueRange(results))));
  for (auto [i, output] : llvm::enumerate(graph.output())) {
    onnx::FunctionInfo(main).setOutputName(i, output.name());
    if (Type type = declaredType(context, output))
      onnx::FunctionInfo(main).setOutputDeclared(i, type);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Values that come from nowhere
//===----------------------------------------------------------------------===//

OpBuilder GraphImporter::atSources() {
  if (!lastSource)
    return OpBuilder::atBlockBegin(&main.getBody().front());
  OpBuilder at(context);
  at.setInsertionPointAfter(lastSource);
  return at;
}

Type GraphImporter::unknownType() {
  return UnrankedTensorType::get(onnx::UnknownType::get(context));
}

Value GraphImporter::unknown(OpBuilder &at, Location loc) {
  return UnrealizedConversionCastOp::create(at, loc, unknownType(),
                                            ValueRange{})
      .getResult(0);
}

Value GraphImporter::none() {
  if (!noneValue) {
    OpBuilder at = atSources();
    lastSource =
        onnx::NoneOp::create(at, module.getLoc(), builder.getNoneType());
    noneValue = lastSource->getResult(0);
  }
  return noneValue;
}

Value GraphImporter::valueOf(const std::string &name, Location user) {
  if (Value known = values.lookup(name))
    return known;
  const TensorProto *tensor = initializers.lookup(name);
  if (!tensor) {
    emitError(user) << "uses '" << name
                    << "', which no node before it computes: expected nodes "
                       "in the order of their use; export the model again";
    return Value();
  }
  OpBuilder at = atSources();
  Value value = addTensor(at, *tensor, name, locOf(name));
  if (value && value != noneValue)
    lastSource = value.getDefiningOp();
  return values[name] = value;
}

Value GraphImporter::addConstant(OpBuilder &at, DenseElementsAttr value,
                                 Location loc) {
  return onnx::ConstantOp::create(at, loc, value.getType(), value);
}

Value GraphImporter::addTensor(OpBuilder &at, const TensorProto &tensor,
                               StringRef name, NameLoc loc) {
  Type element = elementType(context, tensor.data_type());
  if (!element) {
    unsupported.addType(elementName(tensor.data_type()), loc);
    return unknown(at, loc);
  }
  llvm::Expected<TensorValue> read = readTensor(file, tensor, element);
  if (!read) {
    emitError(loc) << "tensor '" << name
                   << "': " << llvm::toString(read.takeError());
    hasBadTensor = true;
    return reportsAll ? unknown(at, loc) : Value();
  }
  if (read->value)
    return addConstant(at, read->value, loc);
  llvm::Expected<StringRef> pattern =
      weightPattern(file, read->type, read->range);
  if (!pattern) {
    emitError(loc) << "tensor '" << name
                   << "': " << llvm::toString(pattern.takeError());
    return Value();
  }
  return onnx::WeightOp::create(at, loc, read->type, at.getStringAttr(name),
                                at.getStringAttr(read->range.file),
                                at.getI64IntegerAttr(read->range.offset),
                                at.getI64IntegerAttr(read->range.length),
                                pattern->empty() ? StringAttr()
                                                 : at.getStringAttr(*pattern));
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Fixed number of results, nothing if variadic.
static std::optional<unsigned> resultCount(RegisteredOperationName name) {
  if (name.hasTrait<OpTrait::OneResult>())
    return 1;
  if (name.hasTrait<OpTrait::NResults<2>::Impl>())
    return 2;
  if (name.hasTrait<OpTrait::NResults<3>::Impl>())
    return 3;
  return std::nullopt;
}

/// ONNX Runtime defines these in ONNX's domain, LayerNormalization for opsets
/// before ONNX's own.
static bool isWithoutSchema(StringRef opType) {
  return opType == "SimplifiedLayerNormalization" ||
         opType == "LayerNormalization";
}

const GraphImporter::Operator &
GraphImporter::lookup(const std::string &domain, const std::string &opType) {
  auto [it, isNew] = operators.try_emplace(domain + ":" + opType);
  Operator &op = it->second;
  if (!isNew)
    return op;
  Schema schema;
  if (domain.empty())
    schema = schemaOf(opType, opsets);
  if (schema.known || (domain.empty() && isWithoutSchema(opType)))
    op.name = nativeName(context, opType);
  else if (domain == "com.microsoft")
    op.name = nativeName(context, "microsoft." + opType);
  if (!op.name)
    return op;
  op.results = resultCount(*op.name);
  for (const AttributeProto *attribute : schema.defaults) {
    std::string ignored;
    if (Attribute value = convertAttribute(context, file, *attribute, ignored))
      op.defaults.emplace_back(builder.getStringAttr(attribute->name()), value);
  }
  return op;
}

/// Gives the results of an unsupported node some value, to find the next one.
void GraphImporter::skip(const NodeProto &node) {
  for (const std::string &output : node.output())
    setValue(output, unknown(builder, locOf(node)));
}

void GraphImporter::checkElements(const NodeProto &node) {
  std::optional<OperandTypes::Wrong> wrong = operandTypes.add(node);
  if (!wrong)
    return;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "operand " << wrong->operand << ", " << wrong->name << ", of "
     << elementName(wrong->found) << ", expected ";
  llvm::interleaveComma(wrong->allowed, os,
                        [&](int32_t element) { os << elementName(element); });
  unsupported.addDetail(node.op_type(), text, locOf(node),
                        "no opset of ONNX has that; cast the operand first");
}

LogicalResult GraphImporter::addNode(const NodeProto &node) {
  const std::string &domain = domainOf(node);
  checkElements(node);
  if (domain.empty() && node.op_type() == "Constant")
    return addConstantNode(node);
  if (domain.empty() && isControlFlow(node))
    return addControlFlow(node);
  const Operator &op = lookup(domain, node.op_type());
  if (op.name)
    return addOperator(node, op);
  unsupported.addOperator(domain, node.op_type(), locOf(node));
  skip(node);
  return success();
}

/// The value of a Constant node that is written as numbers; null for others.
static DenseElementsAttr numbersOf(const AttributeProto &attribute,
                                   Builder &builder) {
  auto type = [&](ArrayRef<int64_t> shape, Type element) {
    return RankedTensorType::get(shape, element);
  };
  Type i64 = builder.getI64Type(), f32 = builder.getF32Type();
  StringRef name = attribute.name();
  if (name == "value_int")
    return DenseElementsAttr::get(type({}, i64), attribute.i());
  if (name == "value_float")
    return DenseElementsAttr::get(type({}, f32), attribute.f());
  if (name == "value_ints")
    return DenseElementsAttr::get(
        type({attribute.ints_size()}, i64),
        ArrayRef(attribute.ints().data(), attribute.ints_size()));
  if (name == "value_floats")
    return DenseElementsAttr::get(
        type({attribute.floats_size()}, f32),
        ArrayRef(attribute.floats().data(), attribute.floats_size()));
  return DenseElementsAttr();
}

LogicalResult GraphImporter::addConstantNode(const NodeProto &node) {
  NameLoc loc = locOf(node);
  if (node.attribute_size() != 1 || node.output_size() != 1)
    return emitError(loc) << "Constant has " << node.attribute_size()
                          << " attributes: expected one, its value; export "
                             "the model again";
  const AttributeProto &attribute = node.attribute(0);
  Value value;
  if (attribute.name() == "value") {
    value = addTensor(builder, attribute.t(), node.output(0), loc);
  } else if (DenseElementsAttr numbers = numbersOf(attribute, builder)) {
    value = addConstant(builder, numbers, loc);
  } else {
    unsupported.addDetail("Constant", "attribute " + attribute.name(), loc);
    value = unknown(builder, loc);
  }
  setValue(node.output(0), value);
  return success(value != nullptr);
}

LogicalResult GraphImporter::addOperator(const NodeProto &node,
                                         const Operator &op) {
  NameLoc loc = locOf(node);
  OperationState state(loc, *op.name);
  int count = countPresent(node.input());
  unsigned most = onnx::mostOperands(op.name->getStringRef());
  if (unsigned(count) > most)
    unsupported.addDetail(
        node.op_type(), "operand " + Twine(most) + " of " + Twine(count), loc);
  for (int i = 0; i < count; ++i) {
    const std::string &name = node.input(i);
    Value value = name.empty() ? none() : valueOf(name, loc);
    if (!value)
      return failure();
    state.operands.push_back(value);
  }
  addAttributes(node, op, state);

  unsigned used = countPresent(node.output());
  unsigned results = op.results.value_or(used);
  if (used > results)
    unsupported.addDetail(node.op_type(),
                          Twine(used) + " results, expected " + Twine(results),
                          loc);
  state.types.append(results, unknownType());
  Operation *created = builder.create(state);
  for (unsigned i = 0; i < used; ++i)
    setValue(node.output(i), i < created->getNumResults()
                                 ? created->getResult(i)
                                 : unknown(builder, loc));
  return success();
}

void GraphImporter::setValue(StringRef name, Value value) {
  Value &known = values[name];
  if (undo)
    undo->emplace_back(name, known);
  known = value;
}

void GraphImporter::addAttributes(const NodeProto &node, const Operator &op,
                                  OperationState &state) {
  NameLoc loc = cast<NameLoc>(state.location);
  ArrayRef<StringAttr> known = op.name->getAttributeNames();
  auto defaultOf = [&](StringRef name) -> Attribute {
    for (NamedAttribute attribute : op.defaults)
      if (attribute.getName() == name)
        return attribute.getValue();
    return Attribute();
  };
  for (const AttributeProto &attribute : node.attribute()) {
    StringRef name = attribute.name();
    if (name.starts_with("__")) // internal to the exporter, ONNX says
      continue;
    std::string why;
    Attribute value = convertAttribute(context, file, attribute, why);
    if (!value)
      unsupported.addDetail(node.op_type(), "attribute " + name + " " + why,
                            loc);
    else if (llvm::is_contained(known, name))
      state.addAttribute(name, value);
    else if (value != defaultOf(name))
      unsupported.addDetail(node.op_type(), "attribute " + name, loc);
  }
  for (NamedAttribute attribute : op.defaults)
    if (llvm::is_contained(known, attribute.getName()) &&
        !state.attributes.get(attribute.getName()))
      state.attributes.append(attribute);
}

} // namespace shardc::importer
