//===- RankOrderTest.cpp - Which ranks share a node -----------------------===//

#include "passes/plan/degrees/RankOrder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace shardc;
using namespace shardc::plan;

namespace {

/// All that times depend on: routes over each set of axes of a stage, and from
/// each stage to the next.
using Routes = std::vector<std::tuple<int64_t, int64_t, int64_t>>;

const char *const kStageAxes[] = {"fsdp", "cp", "ep", "tp"};

void addRoutes(const Machine &machine, const Degrees &degrees,
               const dist::Mesh &mesh, Routes &routes) {
  for (unsigned set = 1; set < 1 << std::size(kStageAxes); ++set) {
    llvm::SmallVector<dist::AxisRef> axes;
    for (auto [i, axis] : llvm::enumerate(kStageAxes))
      if (set >> i & 1 && degrees.ways(axis) > 1)
        axes.push_back({axis, 1, degrees.ways(axis)});
    const Route route = routeOf(machine, mesh, axes);
    routes.emplace_back(route.ranks, route.nodes, route.perNode);
  }
}

Routes routesOf(const Machine &machine, const Degrees &degrees) {
  Routes routes;
  const dist::Mesh mesh = degrees.mesh();
  addRoutes(machine, degrees, mesh, routes);
  for (int64_t stage = 0; stage + 1 < degrees.pp; ++stage) {
    const Route route = routeOfTransfer(machine, mesh, stage, stage + 1);
    routes.emplace_back(route.ranks, route.nodes, route.perNode);
  }
  return routes;
}

/// Every order that there is, replicas outermost.
std::vector<Degrees> allOrders(const Degrees &degrees) {
  std::vector<std::string> axes;
  for (const char *axis : {"cp", "ep", "fsdp", "pp", "tp"})
    if (degrees.ways(axis) > 1)
      axes.push_back(axis);
  std::vector<Degrees> all;
  do {
    dist::Mesh mesh{{{"dp", degrees.dp}}};
    for (const std::string &axis : axes)
      mesh.axes.push_back({axis, degrees.ways(axis)});
    all.push_back(degrees);
    all.back().orderAs(mesh);
  } while (std::next_permutation(axes.begin(), axes.end()));
  return all;
}

void forAllDegrees(std::vector<int64_t> ways, int64_t most,
                   llvm::function_ref<void(const Degrees &)> visit) {
  for (int64_t dp : {1, 2})
    for (int64_t pp : ways)
      for (int64_t fsdp : {1, 2})
        for (int64_t cp : ways)
          for (int64_t ep : ways)
            for (int64_t tp : ways)
              if (const Degrees degrees{dp, pp, fsdp, cp, ep, tp};
                  degrees.numRanks() <= most)
                visit(degrees);
}

Machine makeMachine(int64_t nodes, int64_t devicesPerNode) {
  Machine machine;
  machine.nodes = nodes;
  machine.devicesPerNode = devicesPerNode;
  return machine;
}

std::set<Routes> allRoutes(const Machine &machine, const Degrees &degrees) {
  std::set<Routes> all;
  for (const Degrees &order : allOrders(degrees))
    all.insert(routesOf(machine, order));
  return all;
}

TEST(RankOrder, OneOfEachKindIsTried) {
  for (auto [nodes, perNode] : {std::pair(2, 4), {8, 4}, {32, 2}, {1, 8}}) {
    const Machine machine = makeMachine(nodes, perNode);
    forAllDegrees({1, 2, 4}, nodes * perNode, [&](const Degrees &degrees) {
      std::set<Routes> tried{routesOf(machine, degrees)};
      for (const Degrees &other : otherOrders(degrees, machine))
        EXPECT_TRUE(tried.insert(routesOf(machine, other)).second)
            << other.flags();
      EXPECT_EQ(tried, allRoutes(machine, degrees)) << degrees.flags();
    });
  }
}

TEST(RankOrder, NoKindIsLeftOutWhereWaysDoNotFitNodes) {
  for (auto [nodes, perNode] : {std::pair(3, 4), {12, 4}, {6, 6}, {9, 8}}) {
    const Machine machine = makeMachine(nodes, perNode);
    forAllDegrees({1, 2, 3}, nodes * perNode, [&](const Degrees &degrees) {
      std::set<Routes> tried{routesOf(machine, degrees)};
      for (const Degrees &other : otherOrders(degrees, machine))
        tried.insert(routesOf(machine, other));
      EXPECT_EQ(tried, allRoutes(machine, degrees)) << degrees.flags();
    });
  }
}

TEST(RankOrder, AxesThatAreLeftOutChangeNoNeighbours) {
  for (auto [nodes, perNode] : {std::pair(8, 4), {12, 4}, {9, 8}, {1, 64}}) {
    const Machine machine = makeMachine(nodes, perNode);
    forAllDegrees({1, 2, 3}, nodes * perNode, [&](const Degrees &degrees) {
      for (const Degrees &order : allOrders(degrees)) {
        Routes whole, part;
        addRoutes(machine, order, order.mesh(), whole);
        addRoutes(machine, order, neighbourMesh(order, machine), part);
        EXPECT_EQ(part, whole) << order.flags();
      }
    });
  }
}

TEST(RankOrder, AxesOutsideOfAllNodesAreLeftOut) {
  const Machine machine = makeMachine(8, 4);
  auto mesh = [&](const Degrees &degrees) {
    return neighbourMesh(degrees, machine);
  };
  EXPECT_EQ(mesh({4, 2, 1, 1, 1, 4}), (dist::Mesh{{{"tp", 4}}}));
  // The second replica has ranks 3 to 5, on two nodes.
  EXPECT_EQ(mesh({2, 1, 1, 1, 1, 3}), (dist::Mesh{{{"dp", 2}, {"tp", 3}}}));
}

TEST(RankOrder, FlagsNameAllAxesInnermostFirst) {
  Degrees degrees{2, 2, 1, 1, 1, 4};
  degrees.orderAs({{{"dp", 2}, {"tp", 4}, {"pp", 2}}});
  EXPECT_EQ(degrees.flags(), "--tp 4 --pp 2 --dp 2 --rank-order pp,tp,dp");
  EXPECT_EQ(degrees.mesh(), (dist::Mesh{{{"dp", 2}, {"tp", 4}, {"pp", 2}}}));
  degrees.orderAs({{{"dp", 2}, {"pp", 2}, {"tp", 4}}});
  EXPECT_EQ(degrees.flags(), "--tp 4 --pp 2 --dp 2");
}

} // namespace
