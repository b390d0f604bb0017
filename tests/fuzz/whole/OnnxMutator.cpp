//===- OnnxMutator.cpp - Changes models, and leaves them models -----------===//
//
// Most changes keep what ONNX's checker asks for, so that what stands behind it
// sees the model: another size, attribute or op, an edge from elsewhere, a node
// twice or not at all, a node of another model. One in eight is of bytes.
//
//===----------------------------------------------------------------------===//
#include "onnx/onnx_pb.h"

#include <array>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

namespace shardc::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;

class Mutation {
public:
  Mutation(ModelProto &model, unsigned seed) : model(model), random(seed) {
    collect(model);
  }

  /// Of what there is after the change before: it may have ended messages.
  void run() {
    for (size_t n = 1 + below(3); n > 0; --n) {
      all.clear();
      nodes.clear();
      graphs.clear();
      attributes.clear();
      dims.clear();
      known.clear();
      values.clear();
      collect(model);
      change();
    }
  }

  /// A node of the other model, on values of this one.
  void take(const ModelProto &other) {
    const auto &theirs = other.graph();
    if (theirs.node_size() == 0)
      return;
    NodeProto &node = *model.mutable_graph()->add_node();
    node = theirs.node(static_cast<int>(below(theirs.node_size())));
    for (std::string &name : *node.mutable_input())
      if (!name.empty() && !values.empty())
        name = values[below(values.size())];
    rename(node);
  }

private:
  void change() {
    switch (below(10)) {
    case 0:
    case 1:
      return changeEdge();
    case 2:
      return changeOp();
    case 3:
    case 4:
      return changeAttribute();
    case 5:
    case 6:
      return changeSize();
    case 7:
      return copyOrDropNode();
    case 8:
      return model.set_model_version(static_cast<int64_t>(below(8)));
    default:
      return changeField(*all[below(all.size())]);
    }
  }

  size_t below(size_t limit) { return limit ? random() % limit : 0; }

  void collect(Message &message) {
    all.push_back(&message);
    if (auto *node = dynamic_cast<NodeProto *>(&message)) {
      nodes.push_back(node);
      known.push_back(values.size());
      values.insert(values.end(), node->output().begin(), node->output().end());
    } else if (auto *graph = dynamic_cast<GraphProto *>(&message)) {
      graphs.push_back(graph);
      for (const auto &input : graph->input())
        values.push_back(input.name());
      for (const auto &weight : graph->initializer())
        values.push_back(weight.name());
    } else if (auto *attribute = dynamic_cast<AttributeProto *>(&message)) {
      attributes.push_back(attribute);
    } else if (auto *dim =
                   dynamic_cast<onnx::TensorShapeProto_Dimension *>(&message)) {
      dims.push_back(dim);
    }
    const Reflection &reflection = *message.GetReflection();
    std::vector<const FieldDescriptor *> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor *field : fields) {
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
        continue;
      if (!field->is_repeated()) {
        collect(*reflection.MutableMessage(&message, field));
        continue;
      }
      for (int i = 0; i < reflection.FieldSize(message, field); ++i)
        collect(*reflection.MutableRepeatedMessage(&message, field, i));
    }
  }

  int64_t number(int64_t old) {
    static constexpr std::array<int64_t, 20> kNumbers = {
        0,         1,         2,         3,         4,         6,        8,
        16,        -1,        -2,        -3,        127,       1024,     65536,
        INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1LL << 32, 1LL << 40};
    switch (below(6)) {
    case 0:
      return static_cast<int64_t>(static_cast<uint64_t>(old) + 1);
    case 1:
      return static_cast<int64_t>(static_cast<uint64_t>(old) - 1);
    case 2:
      return kNumbers[below(kNumbers.size())];
    default: // most of them are likely
      return kNumbers[below(11)];
    }
  }

  float real() {
    static constexpr std::array<float, 8> kReals = {
        0, 1, -1, 0.5f, 1e-6f, 1e30f, INFINITY, NAN};
    return kReals[below(kReals.size())];
  }

  void changeEdge() {
    if (nodes.empty() || values.empty())
      return;
    const size_t number = below(nodes.size());
    NodeProto &node = *nodes[number];
    const std::string &value = values[below(known[number])];
    if (node.input_size() == 0 || below(8) == 0)
      node.add_input(value);
    else if (below(8) == 0)
      node.mutable_input()->RemoveLast();
    else
      node.set_input(static_cast<int>(below(node.input_size())),
                     below(8) ? value : std::string());
  }

  void changeOp() {
    if (nodes.empty())
      return;
    static const std::array<const char *, 40> kOps = {"Add",
                                                      "Mul",
                                                      "Div",
                                                      "MatMul",
                                                      "Gemm",
                                                      "Reshape",
                                                      "Transpose",
                                                      "Concat",
                                                      "Split",
                                                      "Slice",
                                                      "Gather",
                                                      "GatherND",
                                                      "ScatterND",
                                                      "Expand",
                                                      "Tile",
                                                      "Pad",
                                                      "Shape",
                                                      "Size",
                                                      "NonZero",
                                                      "Range",
                                                      "Where",
                                                      "Cast",
                                                      "Equal",
                                                      "ReduceSum",
                                                      "ReduceMean",
                                                      "Softmax",
                                                      "TopK",
                                                      "CumSum",
                                                      "Unsqueeze",
                                                      "Squeeze",
                                                      "Flatten",
                                                      "Identity",
                                                      "Einsum",
                                                      "OneHot",
                                                      "Compress",
                                                      "Attention",
                                                      "Trilu",
                                                      "ConstantOfShape",
                                                      "GatherElements",
                                                      "Resize"};
    NodeProto &node = *nodes[below(nodes.size())];
    node.set_op_type(kOps[below(kOps.size())]);
    if (below(4))
      node.clear_attribute();
  }

  void changeAttribute() {
    if (attributes.empty())
      return;
    AttributeProto &attribute = *attributes[below(attributes.size())];
    switch (attribute.type()) {
    case AttributeProto::INT:
      return attribute.set_i(number(attribute.i()));
    case AttributeProto::FLOAT:
      return attribute.set_f(real());
    case AttributeProto::INTS:
      if (attribute.ints_size() == 0 || below(4) == 0)
        return attribute.add_ints(number(0));
      if (below(4) == 0)
        return attribute.mutable_ints()->RemoveLast();
      {
        const int at = static_cast<int>(below(attribute.ints_size()));
        return attribute.set_ints(at, number(attribute.ints(at)));
      }
    default:
      changeField(attribute);
    }
  }

  void changeSize() {
    if (dims.empty())
      return;
    auto &dim = *dims[below(dims.size())];
    if (below(3) == 0)
      dim.set_dim_param(std::string(1, static_cast<char>('a' + below(4))));
    else
      dim.set_dim_value(number(dim.dim_value()));
  }

  void rename(NodeProto &node) {
    for (std::string &name : *node.mutable_output())
      name += "." + std::to_string(below(1000));
    node.set_name(node.name() + "." + std::to_string(below(1000)));
  }

  void copyOrDropNode() {
    GraphProto *graph = graphs.empty() ? nullptr : graphs[below(graphs.size())];
    if (!graph || graph->node_size() == 0)
      return;
    const int at = static_cast<int>(below(graph->node_size()));
    if (below(3) == 0) { // protobuf keeps it, so that it may still be changed
      graph->mutable_node()->SwapElements(at, graph->node_size() - 1);
      graph->mutable_node()->RemoveLast();
      return;
    }
    NodeProto copy = graph->node(at);
    rename(copy);
    *graph->add_node() = copy;
    if (graph->output_size() > 0 && copy.output_size() > 0 && below(2))
      graph->mutable_output(0)->set_name(copy.output(0));
  }

  /// Any field of a message.
  void changeField(Message &message) {
    const auto &type = *message.GetDescriptor();
    if (type.field_count() == 0)
      return;
    const FieldDescriptor *field =
        type.field(static_cast<int>(below(type.field_count())));
    const Reflection &reflection = *message.GetReflection();
    if (field->is_repeated())
      return changeRepeated(message, *field);
    switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.SetInt64(&message, field,
                                 number(reflection.GetInt64(message, field)));
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.SetInt32(&message, field,
                                 static_cast<int32_t>(below(30)));
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.SetEnumValue(&message, field,
                                     static_cast<int>(below(24)));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection.SetFloat(&message, field, real());
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.SetString(&message, field,
                                  text(reflection.GetString(message, field)));
    default:
      return;
    }
  }

  void changeRepeated(Message &message, const FieldDescriptor &field) {
    const Reflection &reflection = *message.GetReflection();
    const int size = reflection.FieldSize(message, &field);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (size > 1)
        reflection.SwapElements(&message, &field, 0,
                                static_cast<int>(below(size)));
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
      if (size == 0 || below(4) == 0)
        return reflection.AddInt64(&message, &field, number(0));
      const int at = static_cast<int>(below(size));
      reflection.SetRepeatedInt64(
          &message, &field, at,
          number(reflection.GetRepeatedInt64(message, &field, at)));
    } else if (size > 0) {
      reflection.RemoveLast(&message, &field);
    }
  }

  std::string text(std::string old) {
    if (below(2) && !values.empty())
      return values[below(values.size())];
    const size_t size = old.size();
    old.resize(size + 16);
    old.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t *>(old.data()), size,
                                old.size()));
    return old;
  }

  ModelProto &model;
  std::minstd_rand random;
  std::vector<Message *> all;
  std::vector<NodeProto *> nodes;
  std::vector<GraphProto *> graphs;
  std::vector<AttributeProto *> attributes;
  std::vector<onnx::TensorShapeProto_Dimension *> dims;
  std::vector<std::string> values; ///< names
  std::vector<size_t> known;       ///< how many of them each node may use
};

size_t writeTo(const ModelProto &model, uint8_t *data, size_t most) {
  const std::string all = model.SerializeAsString();
  if (all.size() > most)
    return 0; // another one is tried
  std::memcpy(data, all.data(), all.size());
  return all.size();
}

} // namespace
} // namespace shardc::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  using namespace shardc::fuzz;
  ModelProto model;
  if (seed % 8 == 0 || !model.ParseFromArray(data, static_cast<int>(size)))
    return LLVMFuzzerMutate(data, size, most);
  Mutation(model, seed).run();
  return writeTo(model, data, most);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t size,
                                            const uint8_t *other,
                                            size_t otherSize, uint8_t *made,
                                            size_t most, unsigned seed) {
  using namespace shardc::fuzz;
  ModelProto model, second;
  if (!model.ParseFromArray(one, static_cast<int>(size)) ||
      !second.ParseFromArray(other, static_cast<int>(otherSize)))
    return 0;
  Mutation(model, seed).take(second);
  return writeTo(model, made, most);
}
