//===- OrderNodes.cpp - Nodes behind what they read -----------------------===//

#include "compiler/import/OrderNodes.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <functional>
#include <queue>
#include <vector>

namespace shardc::importer {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

using Visit = llvm::function_ref<void(const std::string &)>;

void forEachName(const ::onnx::GraphProto &graph, Visit visit);

/// Calls visit(name) for all that a node reads, and graphs in it of those around.
void forEachName(const ::onnx::NodeProto &node, Visit visit) {
  for (const std::string &name : node.input())
    visit(name);
  for (const auto &attribute : node.attribute())
    if (attribute.has_g())
      forEachName(attribute.g(), visit);
}

/// A name that the graph gives is its own, whatever has it outside.
void forEachName(const ::onnx::GraphProto &graph, Visit visit) {
  llvm::StringSet<> own;
  for (const auto &input : graph.input())
    own.insert(input.name());
  for (const auto &weight : graph.initializer())
    own.insert(weight.name());
  for (const auto &node : graph.node())
    own.insert_range(node.output());
  const auto visitOuter = [&](const std::string &name) {
    if (!own.contains(name))
      visit(name);
  };
  for (const auto &node : graph.node())
    forEachName(node, visitOuter);
  for (const auto &output : graph.output())
    visitOuter(output.name());
}

/// Which nodes read what each gives.
class Readers {
public:
  explicit Readers(const Nodes &nodes) : readers(nodes.size()) {
    llvm::StringMap<int> makers;
    for (int i = 0; i < nodes.size(); ++i)
      for (const std::string &name : nodes[i].output())
        if (!name.empty())
          makers.try_emplace(name, i);
    awaited.resize(nodes.size());
    for (int i = 0; i < nodes.size(); ++i)
      forEachName(nodes[i], [&](const std::string &name) {
        auto maker = makers.find(name);
        if (maker == makers.end())
          return;
        isOrdered &= maker->second < i;
        readers[maker->second].push_back(i);
        ++awaited[i];
      });
  }

  /// Each as soon as all is there that it reads, the first of them first; fewer
  /// than there are where some wait for one another.
  std::vector<int> inOrder() {
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (int i = 0; i < int(awaited.size()); ++i)
      if (awaited[i] == 0)
        ready.push(i);
    std::vector<int> order;
    while (!ready.empty()) {
      const int next = ready.top();
      ready.pop();
      order.push_back(next);
      for (int reader : readers[next])
        if (--awaited[reader] == 0)
          ready.push(reader);
    }
    return order;
  }

  bool isOrdered = true;

private:
  std::vector<std::vector<int>> readers;
  std::vector<int> awaited; ///< values that a node waits for
};

} // namespace

void orderNodes(::onnx::GraphProto &graph) {
  Nodes &nodes = *graph.mutable_node();
  for (auto &node : nodes)
    for (auto &attribute : *node.mutable_attribute())
      if (attribute.has_g())
        orderNodes(*attribute.mutable_g());
  Readers readers(nodes);
  if (readers.isOrdered)
    return;
  const std::vector<int> order = readers.inOrder();
  if (int(order.size()) < nodes.size())
    return;
  Nodes ordered;
  for (int i : order)
    ordered.Add()->Swap(&nodes[i]);
  nodes.Swap(&ordered);
}

} // namespace shardc::importer
