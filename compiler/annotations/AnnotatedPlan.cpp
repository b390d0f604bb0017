//===- AnnotatedPlan.cpp - What a model's annotations ask for -------------===//

#include "compiler/annotations/AnnotatedPlan.h"

#include "dialects/dist/algebra/DeviceWays.h"

#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"

#include <nlohmann/json.hpp>

#include <set>

using Json = nlohmann::json;

namespace shardc::annotations {

using dist::AxisRef;
using dist::Mesh;
using importer::NodeAnnotation;
using importer::ShardingSpec;
using llvm::StringRef;

/// Of all devices.
static constexpr int64_t kMaxDevices = 65536;

std::string configurationName(const Mesh &mesh, bool sequenceParallel) {
  std::string name;
  for (const dist::Axis &axis : dist::replicaMesh(mesh).axes)
    if (axis.size > 1 || (axis.name == "tp" && mesh.numRanks() == 1))
      name += (name.empty() ? "" : ",") + axis.name + "=" +
              std::to_string(axis.size);
  return name + (sequenceParallel ? ",sp" : "");
}

/// "pp=2,tp=2,sp"; false where it is another name.
static bool parseName(StringRef name, AnnotatedPlan &plan) {
  llvm::SmallVector<StringRef, 4> words;
  name.split(words, ',');
  for (StringRef word : words) {
    const auto [axis, size] = word.split('=');
    int64_t ways = 0;
    if (word == "sp") {
      plan.sequenceParallel = true;
      continue;
    }
    if (!llvm::is_contained({"pp", "fsdp", "cp", "ep", "tp"}, axis) ||
        plan.mesh.find(axis) || size.getAsInteger(10, ways) || ways < 1 ||
        ways > kMaxDevices)
      return false;
    plan.mesh.axes.push_back({axis.str(), ways});
  }
  if (!plan.mesh.find("tp"))
    plan.mesh.axes.push_back({"tp", 1});
  return plan.mesh.axes.size() > 0;
}

namespace {

std::string text(llvm::ArrayRef<int64_t> numbers) {
  std::string all;
  for (int64_t number : numbers)
    all += (all.empty() ? "" : ", ") + std::to_string(number);
  return all;
}

/// One configuration on a mesh.
class Configuration {
public:
  Configuration(const importer::GraphRecord &record,
                const importer::DeviceConfiguration &configuration)
      : record(record), name(configuration.name),
        numDevices(configuration.numDevices) {
    std::set<int64_t> said;
    for (const NodeAnnotation &node : record.annotations.nodes)
      if (node.configuration == name) {
        nodes.push_back(&node);
        if (node.stage)
          said.insert(*node.stage);
      }
    for (int64_t stage : said)
      stages[stage] = stages.size();
  }

  /// "" or why it is not for these ranks.
  std::string fit(const Mesh *given, AnnotatedPlan &plan) {
    const int64_t numStages = std::max<size_t>(stages.size(), 1);
    if (numDevices < 1 || numDevices > kMaxDevices)
      return "has " + std::to_string(numDevices) +
             " devices; expected 1 or more";
    if (given) {
      plan.mesh = *given;
    } else if (!parseName(name, plan) || plan.mesh.numRanks() != numDevices) {
      plan.mesh.axes.clear();
      plan.sequenceParallel = false;
      if (numDevices % numStages != 0)
        return "has " + std::to_string(numDevices) + " devices for " +
               std::to_string(numStages) +
               " stages; expected as many in each stage";
      if (numStages > 1)
        plan.mesh.axes.push_back({dist::kPipelineAxis.str(), numStages});
      plan.mesh.axes.push_back({"tp", numDevices / numStages});
    }
    replica = dist::replicaMesh(plan.mesh);
    stage = dist::stageMesh(plan.mesh);
    const dist::Axis *pipeline = replica.find(dist::kPipelineAxis);
    const int64_t ways = pipeline ? pipeline->size : 1;
    // Nodes that became ops of several stages say none; of functions' calls all
    // may be such.
    if (!given && ways > int64_t(stages.size()))
      stages.clear();
    if ((!stages.empty() && ways != numStages) ||
        (numDevices != replica.numRanks() && numDevices != stage.numRanks()))
      return "is for " + std::to_string(numDevices) + " devices in " +
             std::to_string(numStages) +
             (numStages == 1 ? " stage" : " stages") + ", the flags make " +
             std::to_string(replica.numRanks()) + " in " +
             std::to_string(ways) + "; use --tp " +
             std::to_string(std::max<int64_t>(1, numDevices / numStages)) +
             (numStages > 1 ? " --pp " + std::to_string(numStages) : "");
    plan.configuration = name;
    return "";
  }

  /// "" or what is wrong with a node.
  std::string write(AnnotatedPlan &plan) {
    Json entries = Json::array(), outputs = Json::object();
    for (const importer::NodeOutputs &node : record.outputs) {
      Json &known = outputs[node.node];
      known = known.is_null() ? Json(node.outputs) : Json(false);
    }
    for (auto it = outputs.begin(); it != outputs.end();)
      it = it->is_array() ? std::next(it) : outputs.erase(it); // told apart
    for (const NodeAnnotation *node : nodes) {
      Json entry = {{"node", node->node}, {"outputs", node->outputs}};
      if (node->stage && stages.count(*node->stage))
        entry["stage"] = stages.at(*node->stage);
      for (const ShardingSpec &spec : node->specs)
        if (write(*node, spec, entry); !problem.empty())
          return node->node + ": its annotation of \"" + spec.tensor + "\" " +
                 problem;
      entries.push_back(std::move(entry));
    }
    plan.json = Json{{"outputs", outputs}, {"nodes", entries}}.dump(
        -1, ' ', false, Json::error_handler_t::replace);
    return "";
  }

private:
  /// Rank of a stage's mesh that a device is; -1, and what is wrong, of others.
  int64_t rankOf(const NodeAnnotation &node, int64_t device) {
    if (device < 0 || device >= numDevices) {
      problem = "is on device " + std::to_string(device) + ", and \"" + name +
                "\" has 0 to " + std::to_string(numDevices - 1);
      return -1;
    }
    if (numDevices == stage.numRanks())
      return device;
    const int64_t here = replica.coordinateAlong(device, dist::kPipelineAxis);
    if (node.stage && stages.count(*node.stage) &&
        stages.at(*node.stage) != here) {
      problem = "is on device " + std::to_string(device) +
                ", which is none of pipeline_stage " +
                std::to_string(*node.stage) + "; use devices " +
                text(devicesOf(stages.at(*node.stage)));
      return -1;
    }
    return dist::wayOf(device, dist::wholeMesh(stage), replica);
  }

  llvm::SmallVector<int64_t> devicesOf(int64_t number) const {
    llvm::SmallVector<int64_t> devices;
    for (int64_t device = 0; device < replica.numRanks(); ++device)
      if (replica.coordinateAlong(device, dist::kPipelineAxis) == number)
        devices.push_back(device);
    return devices;
  }

  /// By rank of a stage the shard that it has; empty, and what is wrong, else.
  llvm::SmallVector<int64_t> shardsOf(const NodeAnnotation &node,
                                      const ShardingSpec &spec, int64_t count) {
    const int64_t ranks = stage.numRanks();
    llvm::SmallVector<int64_t> shards(ranks, -1);
    if (count == 1)
      return llvm::SmallVector<int64_t>(ranks, 0);
    if (spec.devices.empty() && count == ranks)
      return llvm::to_vector(llvm::seq<int64_t>(ranks));
    if (int64_t(spec.devices.size()) != count) {
      problem = "has " + std::to_string(count) + " shards and " +
                std::to_string(spec.devices.size()) +
                " devices or groups of devices; name one for each shard";
      return {};
    }
    for (auto [shard, devices] : llvm::enumerate(spec.devices))
      for (int64_t device : devices) {
        const int64_t rank = rankOf(node, device);
        if (rank < 0)
          return {};
        if (shards[rank] >= 0 && shards[rank] != int64_t(shard)) {
          problem = "gives device " + std::to_string(device) + " both shard " +
                    std::to_string(shards[rank]) + " and shard " +
                    std::to_string(shard) + "; leave one out";
          return {};
        }
        shards[rank] = shard;
      }
    if (!llvm::is_contained(shards, -1))
      return shards;
    problem = "is on " + std::to_string(ranks - llvm::count(shards, -1)) +
              " of the " + std::to_string(ranks) +
              " devices of its stage; every one of them has a part of each "
              "tensor: add the others to the groups of "
              "index_to_device_group_map";
    return {};
  }

  void write(const NodeAnnotation &node, const ShardingSpec &spec,
             Json &entry) {
    int64_t count = 1;
    for (const importer::ShardedDim &dim : spec.dims)
      for (const importer::ShardedDim::Part &part : dim.parts) {
        if (part.shards < 1 || part.shards > kMaxDevices / count)
          return void(problem =
                          "has num_shards " + std::to_string(part.shards) +
                          "; expected 1 or more, " +
                          std::to_string(stage.numRanks()) + " at most in all");
        count *= part.shards;
      }
    const llvm::SmallVector<int64_t> shards = shardsOf(node, spec, count);
    if (shards.empty())
      return;
    Json written = {{"tensor", spec.tensor}, {"dims", Json::array()}};
    int64_t minor = count;
    for (const importer::ShardedDim &dim : spec.dims) {
      Json parts = Json::array();
      for (const importer::ShardedDim::Part &part : dim.parts) {
        minor /= part.shards;
        llvm::SmallVector<int64_t> ways;
        for (int64_t shard : shards)
          ways.push_back(shard / minor % part.shards);
        auto axes = dist::axesOfWays(ways, part.shards, stage);
        if (!axes)
          return void(problem =
                          "deals " + std::to_string(part.shards) +
                          " shards of dim " + std::to_string(dim.axis) +
                          " out over devices in an order that no axes of the "
                          "mesh " +
                          configurationName(stage, false) +
                          " have; list the devices in ascending order");
        parts.push_back({{"size", part.size}, {"axes", axesOf(*axes)}});
      }
      written["dims"].push_back({{"dim", dim.axis}, {"parts", parts}});
    }
    entry["specs"].push_back(std::move(written));
  }

  Json axesOf(llvm::ArrayRef<AxisRef> axes) const {
    Json list = Json::array();
    for (const AxisRef &axis : axes)
      list.push_back(axis.size == stage.sizeOf(axis.name)
                         ? axis.name
                         : axis.name + ":(" + std::to_string(axis.pre) + ")" +
                               std::to_string(axis.size));
    return list;
  }

  const importer::GraphRecord &record;
  const std::string name;
  const int64_t numDevices;
  std::vector<const NodeAnnotation *> nodes;
  std::map<int64_t, int64_t> stages; ///< by what the file calls them
  Mesh replica, stage;
  std::string problem;
};

} // namespace

std::string findAnnotatedPlan(const importer::GraphRecord &record,
                              StringRef wanted, const Mesh *given,
                              AnnotatedPlan &plan) {
  const auto &all = record.annotations.configurations;
  std::string problems, names;
  for (const importer::DeviceConfiguration &one : all) {
    names += (names.empty() ? "\"" : ", \"") + one.name + "\"";
    if (!wanted.empty() && one.name != wanted)
      continue;
    Configuration configuration(record, one);
    AnnotatedPlan tried;
    const std::string problem = configuration.fit(given, tried);
    if (problem.empty()) {
      plan = std::move(tried);
      plan.numConfigurations = all.size();
      return configuration.write(plan);
    }
    problems += (problems.empty() ? "\"" : "; \"") + one.name + "\" " + problem;
  }
  if (problems.empty())
    return "--annotations " + wanted.str() +
           ": the model has no such configuration; it has " + names;
  return "the model's annotations do not fit: " + problems +
         ", or --annotations none";
}

} // namespace shardc::annotations
