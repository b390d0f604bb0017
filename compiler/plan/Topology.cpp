//===- Topology.cpp - Nodes, devices and the links between them -----------===//

#include "compiler/plan/Topology.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <map>

namespace shardc::plan {

using Json = nlohmann::json;

namespace {

constexpr int64_t kMostDevices = 1 << 20;
constexpr char kExample[] =
    "; expected {\"nodes\": 2, \"devices_per_node\": 8, \"inside_node\": "
    "{\"gigabytes_per_second\": 300, \"microseconds\": 4}, \"between_nodes\": "
    "{...}}";

std::string readCount(const Json &object, const char *key, int64_t &count) {
  auto entry = object.find(key);
  if (entry == object.end() || !entry->is_number_integer())
    return std::string("has no number \"") + key + "\"" + kExample;
  if (entry->is_number_unsigned() &&
      entry->get<uint64_t>() > uint64_t(kMostDevices))
    return std::string("\"") + key + "\" is more than " +
           std::to_string(kMostDevices);
  count = entry->get<int64_t>();
  return count >= 1 ? ""
                    : std::string("\"") + key + "\" is " +
                          std::to_string(count) + ", expected at least 1";
}

std::string readLink(const Json &object, const char *key, Link &link) {
  auto entry = object.find(key);
  if (entry == object.end() || !entry->is_object())
    return std::string("has no link \"") + key + "\"" + kExample;
  auto read = [&](const char *part, double least,
                  double &value) -> std::string {
    auto number = entry->find(part);
    if (number == entry->end() || !number->is_number())
      return std::string("\"") + key + "\" has no number \"" + part + "\"" +
             kExample;
    value = number->get<double>();
    return std::isfinite(value) && value >= least
               ? ""
               : std::string("\"") + part + "\" of \"" + key +
                     "\" is out of range: expected more than 0";
  };
  double gigabytes = 0, microseconds = 0;
  std::string problem = read("gigabytes_per_second", 1e-9, gigabytes);
  if (problem.empty())
    problem = read("microseconds", 0, microseconds);
  if (problem.empty() && entry->size() > 2)
    problem = std::string("\"") + key + "\" has unknown entries" + kExample;
  link = {gigabytes * 1e9, microseconds / 1e6};
  return problem;
}

} // namespace

std::string parseTopology(llvm::StringRef text, Topology &topology) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr,
                                /*allow_exceptions=*/false);
  if (!json.is_object())
    return std::string("is no JSON object") + kExample;
  for (const auto &[key, value] : json.items())
    if (!llvm::is_contained(
            {"nodes", "devices_per_node", "inside_node", "between_nodes"},
            llvm::StringRef(key)))
      return "has an unknown entry \"" + key + "\"" + kExample;
  std::string problem = readCount(json, "nodes", topology.nodes);
  if (problem.empty())
    problem = readCount(json, "devices_per_node", topology.devicesPerNode);
  if (problem.empty())
    problem = readLink(json, "inside_node", topology.inside);
  // One node has no links to others.
  topology.between = topology.inside;
  if (problem.empty() && (topology.nodes > 1 || json.contains("between_nodes")))
    problem = readLink(json, "between_nodes", topology.between);
  return problem;
}

std::vector<llvm::SmallVector<int64_t>>
groupsOf(const dist::Mesh &mesh, llvm::ArrayRef<dist::AxisRef> axes) {
  std::map<std::vector<int64_t>, llvm::SmallVector<int64_t>> groups;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
    // The coordinates without the digits that the axes are.
    std::vector<int64_t> key;
    for (size_t a = 0; a < mesh.axes.size(); ++a) {
      int64_t rest = mesh.coordinate(rank, a);
      for (const dist::AxisRef &axis : axes)
        if (axis.name == mesh.axes[a].name) {
          const int64_t stride = mesh.axes[a].size / (axis.pre * axis.size);
          rest -= rest / stride % axis.size * stride;
        }
      key.push_back(rest);
    }
    groups[key].push_back(rank);
  }
  std::vector<llvm::SmallVector<int64_t>> all;
  for (auto &[key, ranks] : groups)
    all.push_back(std::move(ranks));
  return all;
}

Route routeOf(const Topology &topology, const dist::Mesh &mesh,
              llvm::ArrayRef<dist::AxisRef> axes) {
  Route route;
  for (llvm::ArrayRef<int64_t> ranks : groupsOf(mesh, axes)) {
    llvm::SmallDenseSet<int64_t> nodes;
    for (int64_t rank : ranks)
      nodes.insert(topology.nodeOf(rank));
    route.nodes = std::max<int64_t>(route.nodes, nodes.size());
  }
  return route;
}

Route routeOfTransfer(const Topology &topology, const dist::Mesh &mesh,
                      int64_t fromStage, int64_t toStage) {
  int64_t stride = 1;
  for (const dist::Axis &axis : llvm::reverse(mesh.axes)) {
    if (axis.name == dist::kPipelineAxis)
      break;
    stride *= axis.size;
  }
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    if (mesh.coordinateAlong(rank, dist::kPipelineAxis) == fromStage &&
        topology.nodeOf(rank) !=
            topology.nodeOf(rank + (toStage - fromStage) * stride))
      return {2};
  return {1};
}

const Link &linkOf(const Topology &topology, const Route &route) {
  return route.nodes > 1 ? topology.between : topology.inside;
}

double collectiveSeconds(const Topology &topology, const Route &route,
                         int64_t passes, int64_t ways, double bytes) {
  return passes * (ways - 1) * linkOf(topology, route).seconds(bytes / ways);
}

} // namespace shardc::plan
