//===- Inline.cpp - Calls of functions become their bodies ----------------===//
//
// ONNX's inliner replaces calls of the model's own functions: renames values,
// binds attributes, also in calls within functions. Operators that ONNX defines
// by others are made calls of such functions first, one function a node,
// because a body may depend on the node's types.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/Schemas.h"

#include "onnx/defs/schema.h"
#include "onnx/inliner/inliner.h"
#include "onnx/shape_inference/implementation.h"

#include <exception>
#include <unordered_set>

namespace shardc::importer {
namespace {

using Types = std::unordered_map<std::string, ::onnx::TypeProto>;

/// Bodies may again hold operators that have bodies; ONNX's go three deep.
constexpr int kMaxRounds = 8;

/// Functions that replace single nodes are in this domain.
constexpr char kBodies[] = "shardc.bodies";

const ::onnx::OpSchema *schemaWithBody(const ::onnx::NodeProto &node,
                                       const Opsets &opsets,
                                       const IsNative &isNative) {
  const std::string &domain = domainOf(node);
  auto opset = opsets.find(domain);
  if (opset == opsets.end() || (domain.empty() && isNative(node)))
    return nullptr;
  const auto *schema = ::onnx::OpSchemaRegistry::Instance()->GetSchema(
      node.op_type(), opset->second, domain);
  bool hasBody = schema && (schema->HasFunction() ||
                            schema->HasContextDependentFunction());
  return hasBody ? schema : nullptr;
}

/// Those of branches and loop bodies included.
template <typename Visit>
void forEachNode(::onnx::GraphProto &graph, const Visit &visit) {
  for (auto &node : *graph.mutable_node()) {
    visit(node);
    for (auto &attribute : *node.mutable_attribute())
      if (attribute.has_g())
        forEachNode(*attribute.mutable_g(), visit);
  }
}

void addUsedNames(const ::onnx::GraphProto &graph,
                  std::unordered_set<std::string> &names) {
  for (const auto &output : graph.output())
    names.insert(output.name());
  for (const auto &node : graph.node()) {
    names.insert(node.input().begin(), node.input().end());
    for (const auto &attribute : node.attribute())
      if (attribute.has_g())
        addUsedNames(attribute.g(), names);
  }
}

/// Exporters name optional outputs that nobody uses; an op may do without.
void dropUnusedOutputs(::onnx::ModelProto &model, const Opsets &opsets) {
  std::unordered_set<std::string> used;
  addUsedNames(model.graph(), used);
  forEachNode(*model.mutable_graph(), [&](::onnx::NodeProto &node) {
    auto opset = opsets.find(domainOf(node));
    const auto *schema =
        opset == opsets.end()
            ? nullptr
            : ::onnx::OpSchemaRegistry::Instance()->GetSchema(
                  node.op_type(), opset->second, domainOf(node));
    for (int i = 1; schema && i < node.output_size(); ++i)
      if (size_t(i) < schema->outputs().size() &&
          schema->outputs()[i].GetOption() == ::onnx::OpSchema::Optional &&
          !used.count(node.output(i)))
        node.set_output(i, "");
  });
}

/// Types of a graph's values, those of its branches included.
void addTypes(const ::onnx::GraphProto &graph, Types &types) {
  for (const auto *infos :
       {&graph.input(), &graph.output(), &graph.value_info()})
    for (const auto &info : *infos)
      types[info.name()] = info.type();
  for (const auto &tensor : graph.initializer())
    types[tensor.name()].mutable_tensor_type()->set_elem_type(
        tensor.data_type());
  for (const auto &node : graph.node())
    for (const auto &attribute : node.attribute())
      if (attribute.has_g())
        addTypes(attribute.g(), types);
}

/// ONNX lists as many parts as num_outputs says, before it counts the outputs.
void limitParts(::onnx::NodeProto &node) {
  for (auto &attribute : *node.mutable_attribute())
    if (attribute.name() == "num_outputs")
      attribute.set_i(std::min<int64_t>(attribute.i(), node.output_size()));
}

/// Types of all values, as far as ONNX infers them.
Types inferTypes(const ::onnx::ModelProto &model) {
  ::onnx::ModelProto copy = model;
  forEachNode(*copy.mutable_graph(), limitParts);
  try {
    ::onnx::shape_inference::InferShapes(copy);
  } catch (const std::exception &) {
    // A node that does not fit: our own inference reports it better.
  }
  Types types;
  addTypes(copy.graph(), types);
  return types;
}

/// Attention may have head counts beside a query that has a dim for them; ONNX's
/// body takes them for a sign of one that has not.
void dropHeadCounts(::onnx::NodeProto &node, const Types &types) {
  if (node.op_type() != "Attention" || node.input_size() == 0)
    return;
  auto query = types.find(node.input(0));
  if (query == types.end() ||
      query->second.tensor_type().shape().dim_size() != 4)
    return;
  auto &attributes = *node.mutable_attribute();
  for (int i = attributes.size() - 1; i >= 0; --i)
    if (attributes[i].name() == "q_num_heads" ||
        attributes[i].name() == "kv_num_heads")
      attributes.DeleteSubrange(i, 1);
}

/// The body of `node` as a function without name, if there is one for it.
bool buildBody(const ::onnx::NodeProto &node, const ::onnx::OpSchema &schema,
               int opset, const Types &types, ::onnx::FunctionProto &body) {
  if (const auto *function = schema.GetFunction(opset)) {
    body = *function;
    return true;
  }
  if (!schema.HasContextDependentFunction())
    return false;
  std::vector<::onnx::TypeProto> inputs(node.input_size());
  for (int i = 0; i < node.input_size(); ++i)
    if (auto type = types.find(node.input(i)); type != types.end())
      inputs[i] = type->second;
  ::onnx::FunctionBodyBuildContextImpl context(node, inputs);
  try {
    return schema.BuildContextDependentFunction(context, body, opset);
  } catch (const std::exception &) {
    return false; // a type that it needs is not known
  }
}

/// Without it a user would read of operators that the model does not have.
bool isImportable(const ::onnx::FunctionProto &body, const Opsets &opsets,
                  const IsNative &isNative) {
  for (const auto &inner : body.node())
    if (!(domainOf(inner).empty() && isNative(inner)) &&
        !schemaWithBody(inner, opsets, isNative))
      return false;
  return true;
}

/// Ops of a body are at locations that start with the node's.
void nameAfter(const ::onnx::NodeProto &node, ::onnx::FunctionProto &body) {
  std::string prefix = node.name().empty()
                           ? node.op_type() + " -> " + node.output(0)
                           : node.name();
  for (auto &inner : *body.mutable_node())
    inner.set_name(prefix + "/" + inner.op_type());
}

/// Attributes that a call leaves out have the callee's defaults.
template <typename Defaults>
void addDefaults(::onnx::NodeProto &node, const Defaults &defaults) {
  std::unordered_set<std::string> present;
  for (const auto &attribute : node.attribute())
    present.insert(attribute.name());
  for (const ::onnx::AttributeProto &attribute : defaults)
    if (!present.count(attribute.name()))
      *node.add_attribute() = attribute;
}

/// What a call names.
template <typename Function>
std::string keyOf(const Function &function, const std::string &name) {
  return function.domain() + ":" + name + ":" + function.overload();
}

using Functions =
    std::unordered_map<std::string, const ::onnx::FunctionProto *>;

Functions functionsOf(const ::onnx::ModelProto &model) {
  Functions functions;
  for (const auto &function : model.functions())
    functions[keyOf(function, function.name())] = &function;
  return functions;
}

void addCallDefaults(::onnx::ModelProto &model) {
  const Functions functions = functionsOf(model);
  auto visit = [&](auto *nodes) {
    for (::onnx::NodeProto &node : *nodes)
      if (auto callee = functions.find(keyOf(node, node.op_type()));
          callee != functions.end())
        addDefaults(node, callee->second->attribute_proto());
  };
  visit(model.mutable_graph()->mutable_node());
  for (auto &function : *model.mutable_functions())
    visit(function.mutable_node());
}

/// What calls become: functions that call others twice double with each.
class Expansion {
public:
  explicit Expansion(const ::onnx::ModelProto &model)
      : functions(functionsOf(model)) {
    for (const auto &[key, function] : functions)
      read(function->node(), bodies[function]);
    read(model.graph().node(), bodies[nullptr]);
  }

  /// Empty if the calls end and what they become can be compiled.
  std::string findProblem() {
    std::unordered_map<const Function *, std::vector<const Function *>> callers;
    std::unordered_map<const Function *, size_t> numOpen;
    std::vector<const Function *> ready;
    for (auto &[function, body] : bodies) {
      numOpen[function] = body.callees.size();
      for (const Function *callee : body.callees)
        callers[callee].push_back(function);
      if (body.callees.empty())
        ready.push_back(function);
    }
    size_t numDone = 0;
    for (; !ready.empty(); ++numDone) {
      const Function *function = ready.back();
      ready.pop_back();
      const Body &body = bodies[function];
      if (body.numNodes > kMaxNodes || body.depth > kMaxCalls)
        return "the model's functions call each other so often that it would "
               "have more than " +
               std::to_string(kMaxNodes) + " nodes, or " +
               std::to_string(kMaxCalls) +
               " calls in each other: export it without functions";
      for (const Function *caller : callers[function]) {
        bodies[caller].numNodes += body.numNodes;
        bodies[caller].depth = std::max(bodies[caller].depth, body.depth + 1);
        if (--numOpen[caller] == 0)
          ready.push_back(caller);
      }
    }
    return numDone == bodies.size()
               ? ""
               : "some function calls itself: expected functions that end; "
                 "export the model again";
  }

private:
  using Function = ::onnx::FunctionProto;
  struct Body {
    std::vector<const Function *> callees; ///< one for each call
    size_t numNodes = 0;
    unsigned depth = 0;
  };
  static constexpr size_t kMaxNodes = 4 << 20;
  static constexpr unsigned kMaxCalls = 256;

  template <typename Nodes> void read(const Nodes &nodes, Body &body) const {
    for (const ::onnx::NodeProto &node : nodes) {
      ++body.numNodes;
      if (auto callee = functions.find(keyOf(node, node.op_type()));
          callee != functions.end())
        body.callees.push_back(callee->second);
      for (const auto &attribute : node.attribute())
        if (attribute.has_g())
          read(attribute.g().node(), body);
    }
  }

  Functions functions;
  std::unordered_map<const Function *, Body> bodies; ///< null: the graph
};

/// Turns nodes that have a body into calls; whether there were any.
bool callBodies(::onnx::ModelProto &model, const Opsets &opsets,
                const IsNative &isNative) {
  dropUnusedOutputs(model, opsets);
  std::vector<std::pair<::onnx::NodeProto *, const ::onnx::OpSchema *>> nodes;
  forEachNode(*model.mutable_graph(), [&](::onnx::NodeProto &node) {
    if (const auto *schema = schemaWithBody(node, opsets, isNative))
      nodes.emplace_back(&node, schema);
  });
  if (nodes.empty())
    return false;

  Types types = inferTypes(model);
  int built = 0;
  for (auto [node, schema] : nodes) {
    ::onnx::FunctionProto body;
    dropHeadCounts(*node, types);
    if (!buildBody(*node, *schema, opsets.at(domainOf(*node)), types, body) ||
        !isImportable(body, opsets, isNative))
      continue;
    nameAfter(*node, body);
    std::vector<::onnx::AttributeProto> defaults;
    for (const auto &[name, attribute] : schema->attributes())
      if (attribute.default_value.has_name())
        defaults.push_back(attribute.default_value);
    addDefaults(*node, defaults);
    body.set_domain(kBodies);
    body.set_name(node->op_type() + "." + std::to_string(built++));
    *body.mutable_opset_import() = model.opset_import();
    node->set_domain(kBodies);
    node->set_op_type(body.name());
    *model.add_functions() = std::move(body);
  }
  return built > 0;
}

} // namespace

std::string inlineFunctions(::onnx::ModelProto &model, const Opsets &opsets,
                            const IsNative &isNative) {
  try {
    if (model.functions_size() > 0) {
      if (std::string problem = Expansion(model).findProblem();
          !problem.empty())
        return problem;
      addCallDefaults(model);
      ::onnx::inliner::InlineLocalFunctions(model);
    }
    for (int round = 0; round < kMaxRounds; ++round) {
      if (!callBodies(model, opsets, isNative))
        break;
      ::onnx::inliner::InlineLocalFunctions(model);
    }
  } catch (const std::exception &error) {
    return error.what();
  }
  return "";
}

} // namespace shardc::importer
