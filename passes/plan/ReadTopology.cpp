//===- ReadTopology.cpp - Topology files ----------------------------------===//

#include "passes/plan/ReadTopology.h"

#include "llvm/ADT/STLExtras.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace shardc::plan {

using dist::Link;
using dist::Topology;
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

} // namespace shardc::plan
