//===- OperandTypes.cpp - Elements that no operator takes -----------------===//

#include "compiler/import/OperandTypes.h"

#include "onnx/defs/data_type_utils.h"
#include "onnx/defs/schema.h"

#include <algorithm>

namespace shardc::importer {
namespace {

using ::onnx::NodeProto;
using ::onnx::OpSchema;
using ::onnx::TensorProto;
using Formal = OpSchema::FormalParameter;

const OpSchema *schemaAt(const std::string &opType, int opset) {
  const auto *schema =
      ::onnx::OpSchemaRegistry::Instance()->GetSchema(opType, opset, "");
  return schema && !schema->Deprecated() ? schema : nullptr;
}

/// Operators whose kernels compute no more than some schema allows, with how
/// many operands that holds for. Others move elements of any type, or read
/// integers of any width.
struct Limited {
  const char *opType;
  int operands;
  bool hasIntegers; ///< kernels compute all integers, whatever schemas say
};
constexpr int kAll = 1 << 20;
constexpr Limited kLimited[] = {
    {"Abs", 1, false},
    {"Acos", 1, false},
    {"Acosh", 1, false},
    {"Add", 2, false},
    {"And", 2, false},
    {"ArgMax", 1, false},
    {"ArgMin", 1, false},
    {"Asin", 1, false},
    {"Asinh", 1, false},
    {"Atan", 1, false},
    {"Atanh", 1, false},
    {"AveragePool", 1, false},
    {"BitwiseAnd", 2, false},
    {"BitwiseNot", 1, false},
    {"BitwiseOr", 2, false},
    {"BitwiseXor", 2, false},
    {"Ceil", 1, false},
    {"Celu", 1, false},
    {"Clip", 1, false},
    {"Conv", 2, false},
    {"Cos", 1, false},
    {"Cosh", 1, false},
    {"Div", 2, false},
    {"Einsum", kAll, false},
    {"Elu", 1, false},
    {"Equal", 2, false},
    {"Erf", 1, false},
    {"Exp", 1, false},
    {"Floor", 1, false},
    {"Gelu", 1, false},
    {"Gemm", 2, true},
    {"GlobalAveragePool", 1, true},
    {"Greater", 2, false},
    {"GreaterOrEqual", 2, false},
    {"HardSigmoid", 1, false},
    {"HardSwish", 1, false},
    {"Hardmax", 1, true},
    {"IsInf", 1, false},
    {"IsNaN", 1, false},
    {"LayerNormalization", 1, false},
    {"LeakyRelu", 1, false},
    {"Less", 2, false},
    {"LessOrEqual", 2, false},
    {"Log", 1, false},
    {"LogSoftmax", 1, false},
    {"MatMul", 2, true},
    {"MatMulInteger", 2, false},
    {"Max", kAll, false},
    {"MaxPool", 1, false},
    {"Mean", kAll, true},
    {"Min", kAll, false},
    {"Mish", 1, false},
    {"Mod", 2, false},
    {"Mul", 2, false},
    {"Neg", 1, false},
    {"NonZero", 1, false},
    {"Not", 1, false},
    {"Or", 2, false},
    {"PRelu", 2, false},
    {"Pow", 2, false},
    {"Reciprocal", 1, false},
    {"ReduceL1", 1, false},
    {"ReduceL2", 1, false},
    {"ReduceLogSum", 1, false},
    {"ReduceLogSumExp", 1, false},
    {"ReduceMax", 1, false},
    {"ReduceMean", 1, false},
    {"ReduceMin", 1, false},
    {"ReduceProd", 1, false},
    {"ReduceSum", 1, false},
    {"ReduceSumSquare", 1, false},
    {"Relu", 1, false},
    {"Round", 1, false},
    {"Selu", 1, false},
    {"Sigmoid", 1, false},
    {"Sign", 1, false},
    {"Sin", 1, false},
    {"Sinh", 1, false},
    {"Softmax", 1, false},
    {"Softplus", 1, false},
    {"Softsign", 1, false},
    {"Sqrt", 1, false},
    {"Sub", 2, false},
    {"Sum", kAll, true},
    {"Tan", 1, false},
    {"Tanh", 1, false},
    {"ThresholdedRelu", 1, true},
    {"Where", 1, false},
    {"Xor", 2, false},
};

bool isInteger(int32_t element) {
  switch (element) {
  case TensorProto::INT8:
  case TensorProto::UINT8:
  case TensorProto::INT16:
  case TensorProto::UINT16:
  case TensorProto::INT32:
  case TensorProto::UINT32:
  case TensorProto::INT64:
  case TensorProto::UINT64:
    return true;
  default:
    return false;
  }
}

/// Whether kernels may refuse those elements.
bool isLimited(const std::string &opType, int operand, int32_t element) {
  const auto *found =
      std::find_if(std::begin(kLimited), std::end(kLimited),
                   [&](const Limited &op) { return op.opType == opType; });
  return found != std::end(kLimited) && operand < found->operands &&
         !(found->hasIntegers && isInteger(element));
}

/// The last formal parameter may stand for any number.
const Formal *formalOf(const std::vector<Formal> &formals, int index) {
  if (size_t(index) < formals.size())
    return &formals[index];
  const bool repeats =
      !formals.empty() && formals.back().GetOption() == OpSchema::Variadic;
  return repeats ? &formals.back() : nullptr;
}

/// 0 for what is no tensor.
int32_t elementOf(const std::string *type) {
  const auto &proto = ::onnx::Utils::DataTypeUtils::ToTypeProto(type);
  return proto.has_tensor_type() ? proto.tensor_type().elem_type() : 0;
}

/// Elements that the operand has in any version of the operator.
std::vector<int32_t> allowedElements(const std::string &opType, int index) {
  std::vector<int32_t> allowed;
  for (int opset = newestOpset(); opset > 0;) {
    const auto *schema =
        ::onnx::OpSchemaRegistry::Instance()->GetSchema(opType, opset, "");
    if (!schema)
      break;
    opset = schema->since_version() - 1;
    const Formal *formal = formalOf(schema->inputs(), index);
    if (!formal)
      continue;
    for (const std::string *type : formal->GetTypes())
      if (int32_t element = elementOf(type))
        allowed.push_back(element);
  }
  std::sort(allowed.begin(), allowed.end());
  allowed.erase(std::unique(allowed.begin(), allowed.end()), allowed.end());
  return allowed;
}

/// The type that an attribute names; 0 for none.
int32_t namedElement(const NodeProto &node) {
  for (const auto &attribute : node.attribute()) {
    const std::string &name = attribute.name();
    if (name == "to" || name == "dtype" || name == "output_dtype" ||
        name == "output_datatype")
      return int32_t(attribute.i());
    if (name == "value" && attribute.has_t())
      return attribute.t().data_type();
  }
  return node.op_type() == "ConstantOfShape" ? TensorProto::FLOAT : 0;
}

} // namespace

OperandTypes::OperandTypes(const ::onnx::GraphProto &graph,
                           const Opsets &opsets)
    : opset(opsets.at("")) {
  addGraph(graph);
}

/// A name that two branches use otherwise says nothing.
void OperandTypes::declare(const std::string &name, int32_t type) {
  auto [entry, isNew] = types.emplace(name, type);
  if (!isNew && entry->second != type)
    entry->second = 0;
}

void OperandTypes::addGraph(const ::onnx::GraphProto &graph) {
  for (const auto &input : graph.input())
    declare(input.name(), input.type().tensor_type().elem_type());
  for (const auto &tensor : graph.initializer()) {
    declare(tensor.name(), tensor.data_type());
    constants.insert(tensor.name());
  }
  for (const NodeProto &node : graph.node())
    for (const auto &attribute : node.attribute())
      if (attribute.has_g())
        addGraph(attribute.g());
}

int32_t OperandTypes::typeOf(const std::string &name) const {
  auto found = types.find(name);
  return found == types.end() ? 0 : found->second;
}

std::optional<OperandTypes::Wrong> OperandTypes::add(const NodeProto &node) {
  const OpSchema *schema =
      domainOf(node).empty() ? schemaAt(node.op_type(), opset) : nullptr;
  std::optional<Wrong> wrong;
  std::unordered_map<std::string, int32_t> bound; // by constraint
  for (int i = 0; schema && i < node.input_size(); ++i) {
    const Formal *formal = formalOf(schema->inputs(), i);
    const int32_t element = node.input(i).empty() ? 0 : typeOf(node.input(i));
    if (!formal || element == 0)
      continue;
    if (formal->GetIsHomogeneous())
      bound.emplace(formal->GetTypeStr(), element);
    if (wrong || constants.count(node.input(i)) ||
        !isLimited(node.op_type(), i, element))
      continue;
    auto [entry, isNew] = allowedOf.try_emplace({node.op_type(), i});
    if (isNew)
      entry->second = allowedElements(node.op_type(), i);
    const std::vector<int32_t> &allowed = entry->second;
    if (!allowed.empty() &&
        !std::binary_search(allowed.begin(), allowed.end(), element))
      wrong = {i, formal->GetName(), element, allowed};
  }
  const int32_t named = namedElement(node);
  for (int i = 0; i < node.output_size(); ++i) {
    const Formal *formal = schema ? formalOf(schema->outputs(), i) : nullptr;
    int32_t element = 0;
    if (formal && formal->GetTypes().size() == 1)
      element = elementOf(*formal->GetTypes().begin());
    else if (formal && bound.count(formal->GetTypeStr()))
      element = bound[formal->GetTypeStr()];
    else if (i == 0)
      element = named;
    types[node.output(i)] = element;
    if (node.op_type() == "Constant")
      constants.insert(node.output(i));
  }
  return wrong;
}

} // namespace shardc::importer
