//===- Annotations.cpp - Multi-device annotations of a model --------------===//

#include "compiler/import/Annotations.h"

#include "onnx/onnx_pb.h"

#include <map>

using ::onnx::GraphProto;
using ::onnx::NodeProto;

namespace shardc::importer {

namespace {

/// Those of branches and loop bodies included.
template <typename Visit>
void forEachNode(const GraphProto &graph, const Visit &visit) {
  for (const NodeProto &node : graph.node()) {
    visit(node);
    for (const auto &attribute : node.attribute())
      if (attribute.has_g())
        forEachNode(attribute.g(), visit);
  }
}

ShardedDim readDim(const ::onnx::ShardedDimProto &from) {
  ShardedDim dim;
  dim.axis = from.axis();
  for (const auto &simple : from.simple_sharding()) {
    ShardedDim::Part &part = dim.parts.emplace_back();
    if (simple.has_dim_value())
      part.size = std::to_string(simple.dim_value());
    else if (simple.has_dim_param())
      part.size = simple.dim_param();
    part.shards = simple.num_shards();
  }
  return dim;
}

ShardingSpec readSpec(const ::onnx::ShardingSpecProto &from) {
  ShardingSpec spec;
  spec.tensor = from.tensor_name();
  std::map<int64_t, std::vector<int64_t>> groups;
  for (const auto &group : from.index_to_device_group_map())
    groups[group.key()].assign(group.value().begin(), group.value().end());
  for (int64_t device : from.device()) {
    auto group = groups.find(device);
    spec.devices.push_back(group == groups.end() ? std::vector<int64_t>{device}
                                                 : group->second);
  }
  for (const auto &dim : from.sharded_dim())
    spec.dims.push_back(readDim(dim));
  return spec;
}

} // namespace

std::string nodeText(const NodeProto &node) {
  if (!node.name().empty())
    return node.name();
  return node.output_size() > 0 ? node.op_type() + " -> " + node.output(0)
                                : node.op_type();
}

Annotations readAnnotations(const ::onnx::ModelProto &model) {
  Annotations all;
  for (const auto &configuration : model.configuration())
    all.configurations.push_back(
        {configuration.name(), configuration.num_devices()});
  if (all.configurations.empty())
    return all;
  forEachNode(model.graph(), [&](const NodeProto &node) {
    for (const auto &from : node.device_configurations()) {
      NodeAnnotation &made = all.nodes.emplace_back();
      made.node = nodeText(node);
      made.configuration = from.configuration_id();
      made.outputs.assign(node.output().begin(), node.output().end());
      if (from.has_pipeline_stage())
        made.stage = from.pipeline_stage();
      for (const auto &spec : from.sharding_spec())
        made.specs.push_back(readSpec(spec));
    }
  });
  return all;
}

std::vector<NodeOutputs> nodeOutputs(const GraphProto &graph) {
  std::vector<NodeOutputs> nodes;
  forEachNode(graph, [&](const NodeProto &node) {
    nodes.push_back(
        {nodeText(node), {node.output().begin(), node.output().end()}});
  });
  return nodes;
}

} // namespace shardc::importer
