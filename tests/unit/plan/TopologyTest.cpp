//===- TopologyTest.cpp - Nodes, devices and the links between them -------===//

#include "passes/plan/ReadTopology.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::dist;
using namespace shardc::plan;

namespace {

constexpr char kTwoNodes[] = R"({
  "nodes": 2, "devices_per_node": 4,
  "inside_node": {"gigabytes_per_second": 100, "microseconds": 2},
  "between_nodes": {"gigabytes_per_second": 10, "microseconds": 20}})";

Topology twoNodes() {
  Topology topology;
  EXPECT_EQ(parseTopology(kTwoNodes, topology), "");
  return topology;
}

dist::AxisRef axis(llvm::StringRef name, int64_t size, int64_t pre = 1) {
  return {name.str(), pre, size};
}

TEST(Topology, readsNodesAndLinks) {
  Topology topology = twoNodes();
  EXPECT_EQ(topology.numDevices(), 8);
  EXPECT_EQ(topology.nodeOf(3), 0);
  EXPECT_EQ(topology.nodeOf(4), 1);
  EXPECT_DOUBLE_EQ(topology.between.seconds(1e6), 120e-6);
}

TEST(Topology, oneNodeNeedsNoLinkBetweenNodes) {
  Topology topology;
  EXPECT_EQ(parseTopology(
                R"({"nodes": 1, "devices_per_node": 8, "inside_node":
                    {"gigabytes_per_second": 100, "microseconds": 0}})",
                topology),
            "");
}

TEST(Topology, saysWhatIsWrong) {
  const std::pair<std::string, const char *> cases[] = {
      {"", "no JSON object"},
      {"[1]", "no JSON object"},
      {R"({"nodes": 2})", "no number \"devices_per_node\""},
      {R"({"nodes": 0, "devices_per_node": 1})", "expected at least 1"},
      {R"({"nodes": 1e3, "devices_per_node": 1})", "no number \"nodes\""},
      {R"({"nodes": 18446744073709551615})", "more than"},
      {R"({"nodes": 1, "devices_per_node": 1})", "no link \"inside_node\""},
      {R"({"nodes": 1, "devices_per_node": 1, "inside_node": {}})",
       "no number \"gigabytes_per_second\""},
      {R"({"nodes": 1, "devices_per_node": 1, "inside_node":
           {"gigabytes_per_second": 0, "microseconds": 1}})",
       "out of range"},
      {R"({"nodes": 1, "devices_per_node": 1, "inside_node":
           {"gigabytes_per_second": 1, "microseconds": -1}})",
       "out of range"},
      {R"({"nodes": 1, "devices_per_node": 1, "inside_node":
           {"gigabytes_per_second": 1, "microseconds": 1, "hops": 2}})",
       "unknown entries"},
      {R"({"nodes": 2, "devices_per_node": 1, "inside_node":
           {"gigabytes_per_second": 1, "microseconds": 1}})",
       "no link \"between_nodes\""},
      {R"({"nodes": 1, "speed": 1})", "unknown entry \"speed\""},
  };
  for (const auto &[text, expected] : cases) {
    Topology topology;
    std::string problem = parseTopology(text, topology);
    EXPECT_NE(problem.find(expected), std::string::npos)
        << text << ": " << problem;
  }
}

TEST(Topology, groupsAreRanksThatDifferInTheAxes) {
  dist::Mesh mesh{{{"pp", 2}, {"tp", 4}}};
  using Groups = std::vector<llvm::SmallVector<int64_t>>;
  EXPECT_EQ(groupsOf(mesh, {axis("tp", 4)}),
            (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(groupsOf(mesh, {axis("tp", 2)}),
            (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(groupsOf(mesh, {axis("tp", 2, 2)}),
            (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
}

TEST(Topology, theOrderOfAxesDecidesWhatSharesANode) {
  Topology topology = twoNodes();
  dist::Mesh inner{{{"pp", 2}, {"tp", 4}}}, outer{{{"tp", 4}, {"pp", 2}}};
  EXPECT_EQ(routeOf(topology, inner, {axis("tp", 4)}).nodes, 1);
  EXPECT_EQ(routeOf(topology, outer, {axis("tp", 4)}).nodes, 2);
  // The minor half of tp: ranks 0 and 2.
  EXPECT_EQ(routeOf(topology, outer, {axis("tp", 2, 2)}).nodes, 1);
  EXPECT_EQ(routeOfTransfer(topology, inner, 0, 1).nodes, 2);
  EXPECT_EQ(routeOfTransfer(topology, outer, 0, 1).nodes, 1);
}

TEST(Topology, aRingGoesOverTheSlowestLink) {
  Topology topology = twoNodes();
  // 4 ranks, 4 MB: 2 x 3 steps of 1 MB for an all_reduce.
  EXPECT_DOUBLE_EQ(collectiveSeconds(topology, {1}, 2, 4, 4e6), 6 * 12e-6);
  EXPECT_DOUBLE_EQ(collectiveSeconds(topology, {2}, 1, 4, 4e6), 3 * 120e-6);
}

} // namespace
