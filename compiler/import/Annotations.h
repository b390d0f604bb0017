//===- Annotations.h - Multi-device annotations of a model ----------------===//
//
// ONNX (IR 11) says beside a graph how it may be split over devices, in one or
// several configurations; what a model says of one node, of 4 devices:
//
//   node { name: "up" input: "x" input: "w" output: "y"
//     device_configurations { configuration_id: "4 devices"  pipeline_stage: 0
//       sharding_spec { tensor_name: "w"  device: [-1, -2]
//         index_to_device_group_map { -1: [0, 2]  -2: [1, 3] }
//         sharded_dim { axis: 1 simple_sharding { num_shards: 2 } } } } }
//
// Shards are counted row-major over the sharded dims; the devices of a group all
// have the same one. Nothing is checked here but that numbers are numbers.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_IMPORT_ANNOTATIONS_H
#define SHARDC_COMPILER_IMPORT_ANNOTATIONS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace onnx {
class GraphProto;
class ModelProto;
class NodeProto;
} // namespace onnx

namespace shardc::importer {

struct ShardedDim {
  struct Part {
    std::string size; ///< of the factor; empty where it is not said
    int64_t shards = 1;
  };
  int64_t axis = 0; ///< may count from the back
  std::vector<Part> parts;
};

struct ShardingSpec {
  std::string tensor;
  std::vector<std::vector<int64_t>> devices; ///< by shard; empty: not said
  std::vector<ShardedDim> dims;
};

/// What one configuration says of one node.
struct NodeAnnotation {
  std::string node, configuration;
  std::vector<std::string> outputs;
  std::optional<int64_t> stage;
  std::vector<ShardingSpec> specs;
};

struct DeviceConfiguration {
  std::string name;
  int64_t numDevices = 0;
};

struct Annotations {
  std::vector<DeviceConfiguration> configurations;
  std::vector<NodeAnnotation> nodes;
};

/// Of the nodes of all graphs and branches; those of functions' bodies are of
/// many calls and left out.
Annotations readAnnotations(const ::onnx::ModelProto &model);

/// What locations call a node: its name, or "Op -> first output".
std::string nodeText(const ::onnx::NodeProto &node);

/// By node: what it is called and its outputs.
struct NodeOutputs {
  std::string node;
  std::vector<std::string> outputs;
};
std::vector<NodeOutputs> nodeOutputs(const ::onnx::GraphProto &graph);

} // namespace shardc::importer

#endif // SHARDC_COMPILER_IMPORT_ANNOTATIONS_H
