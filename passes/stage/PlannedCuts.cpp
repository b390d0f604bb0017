//===- PlannedCuts.cpp - Where a plan cuts stages -------------------------===//

#include "passes/stage/PlannedCuts.h"

#include "dialects/dist/NodeName.h"
#include "passes/plan/PlanEntry.h"
#include "passes/plan/PlanFile.h"

#include <map>
#include <tuple>

using namespace mlir;
using Json = nlohmann::json;

namespace shardc::stage {

namespace {

constexpr plan::EntryKey kCutKeys[] = {
    {"node", plan::EntryKey::Kind::Text, true},
    {"op", plan::EntryKey::Kind::Text, true},
    {"index", plan::EntryKey::Kind::Number}};

/// A product with a matrix, as plans name it.
struct Product {
  std::string node, op;
  size_t index, piece;
};

/// In order.
std::vector<Product> productsOf(const StageGraph &graph) {
  std::vector<Product> products;
  std::map<std::pair<std::string, std::string>, size_t> count;
  for (size_t piece = 0; piece < graph.pieces.size(); ++piece)
    for (unsigned number = graph.firstOps[piece];
         number < graph.firstOps[piece + 1]; ++number) {
      Operation *op = graph.fixedOps[number];
      if (!graph.readsMatrix(op))
        continue;
      Product product{nodeName(op).str(), op->getName().stripDialect().str(), 0,
                      piece};
      product.index = count[{product.node, product.op}]++;
      products.push_back(std::move(product));
    }
  return products;
}

/// The first product of each piece that has one, by piece.
std::map<size_t, const Product *> firstOfPieces(ArrayRef<Product> products) {
  std::map<size_t, const Product *> first;
  for (const Product &product : products)
    first.try_emplace(product.piece, &product);
  return first;
}

std::string nearestTo(StringRef node, ArrayRef<Product> products) {
  plan::OpNames names;
  for (const Product &product : products)
    names.nodes.push_back(product.node);
  return plan::nearestNode(names, node);
}

} // namespace

Json writeCuts(const StageGraph &graph, ArrayRef<size_t> cuts) {
  Json written = Json::array();
  const std::vector<Product> products = productsOf(graph);
  const auto first = firstOfPieces(products);
  for (size_t piece : cuts.drop_front()) {
    const Product &product = *first.at(piece);
    Json &entry =
        written.emplace_back(Json{{"node", product.node}, {"op", product.op}});
    if (product.index > 0)
      entry["index"] = product.index;
  }
  return written;
}

std::string readCuts(const Json &planned, const StageGraph &graph,
                     size_t numStages, std::vector<size_t> &cuts) {
  if (planned.size() + 1 != numStages)
    return "has " + std::to_string(planned.size()) + " cuts, expected " +
           std::to_string(numStages - 1) + " for " + std::to_string(numStages) +
           " stages";
  const std::vector<Product> products = productsOf(graph);
  const auto first = firstOfPieces(products);
  std::map<std::tuple<std::string, std::string, size_t>, const Product *> named;
  for (const Product &product : products)
    named[{product.node, product.op, product.index}] = &product;
  cuts = {0};
  for (const Json &entry : planned) {
    if (std::string wrong = plan::checkEntry(entry, kCutKeys); !wrong.empty())
      return "an entry " + wrong;
    const std::string node = entry["node"], op = entry["op"];
    auto found = named.find({node, op, entry.value("index", size_t(0))});
    if (found == named.end())
      return node + ": the model has no such " + op +
             " that reads weights; the nearest one is " +
             nearestTo(node, products);
    const Product *known = found->second;
    if (first.at(known->piece) != known)
      return node + ": no stage can begin there; the nearest before is " +
             first.at(known->piece)->node;
    if (known->piece <= cuts.back())
      return node + ": comes before, or with, the beginning of the stage "
                    "before it; list cuts in the order of the model, and none "
                    "at its first product";
    cuts.push_back(known->piece);
  }
  return "";
}

} // namespace shardc::stage
