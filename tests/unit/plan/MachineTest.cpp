//===- MachineTest.cpp - Nodes, devices and the links between them --------===//

#include "passes/plan/machine/ReadMachine.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::plan;
using dist::AxisRef;

namespace {

constexpr char kTwoNodes[] = R"({
  "nodes": 2, "devices_per_node": 4,
  "inside_node": {"gigabytes_per_second": 100, "microseconds": 2},
  "between_nodes": {"gigabytes_per_second": 10, "microseconds": 20}})";

Machine read(llvm::StringRef text) {
  Machine machine;
  EXPECT_EQ(parseMachine(text, machine), "");
  return machine;
}

AxisRef axis(llvm::StringRef name, int64_t size, int64_t pre = 1) {
  return {name.str(), pre, size};
}

TEST(Curve, passesThroughItsPointsAndBetweenThem) {
  const Curve curve({{1000, 1e-6}, {100000, 100e-6}});
  EXPECT_DOUBLE_EQ(curve.seconds(1), 1e-6);
  EXPECT_DOUBLE_EQ(curve.seconds(1000), 1e-6);
  EXPECT_NEAR(curve.seconds(10000), 10e-6, 1e-12); // over logarithms
  EXPECT_DOUBLE_EQ(curve.seconds(100000), 100e-6);
  EXPECT_NEAR(curve.seconds(1e6), 1e-3, 1e-12); // at the last one's rate
  EXPECT_DOUBLE_EQ(Curve::ofRate(1e9, 2e-6).seconds(1e6), 1002e-6);
}

TEST(Links, otherNumbersOfRanksLieBetweenThoseThatWereMeasured) {
  Links links;
  auto &known = links.measured[CollectiveKind::AllReduce];
  known[2] = Curve({{1, 1e-6}, {1e6, 10e-6}});
  known[8] = Curve({{1, 4e-6}, {1e6, 40e-6}});
  auto seconds = [&](int64_t ranks, double bytes) {
    return links.seconds(CollectiveKind::AllReduce, ranks, bytes);
  };
  EXPECT_EQ(seconds(1, 1e6), 0);
  EXPECT_DOUBLE_EQ(seconds(2, 1e6), 10e-6);
  EXPECT_DOUBLE_EQ(seconds(8, 1e6), 40e-6);
  EXPECT_NEAR(seconds(4, 1e6), 20e-6, 1e-12); // halfway between 2 and 8
  EXPECT_GT(seconds(16, 1), seconds(8, 1));
  EXPECT_GT(seconds(16, 1e6), seconds(8, 1e6));
}

TEST(Links, whatWasNotMeasuredIsMadeOfSends) {
  Links links;
  links.send = Curve::ofRate(1e9, 1e-6);
  // 4 ranks, 4 MB: steps of 1 MB, of 250 KB where each rank gives to each.
  const double step = 1e-6 + 1e-3;
  EXPECT_DOUBLE_EQ(links.seconds(CollectiveKind::AllReduce, 4, 4e6), 6 * step);
  EXPECT_DOUBLE_EQ(links.seconds(CollectiveKind::AllGather, 4, 4e6), 3 * step);
  EXPECT_DOUBLE_EQ(links.seconds(CollectiveKind::AllToAll, 4, 4e6),
                   3 * (1e-6 + 250e-6));
}

TEST(Machine, readsNodesAndLinks) {
  const Machine machine = read(kTwoNodes);
  EXPECT_EQ(machine.numDevices(), 8);
  EXPECT_EQ(machine.nodeOf(3), 0);
  EXPECT_EQ(machine.nodeOf(4), 1);
  EXPECT_TRUE(machine.devices.empty());
  EXPECT_DOUBLE_EQ(machine.between.send.seconds(1e6), 120e-6);
}

TEST(Machine, oneNodeNeedsNoLinkBetweenNodes) {
  read(R"({"nodes": 1, "devices_per_node": 8, "inside_node":
           {"gigabytes_per_second": 100, "microseconds": 0}})");
}

TEST(Machine, presetsAreThereInAnySize) {
  for (llvm::StringRef name : {"a100", "b200", "cpu", "h100", "h200", "l40s"}) {
    EXPECT_TRUE(isPreset(name));
    const Machine machine = read(name.str() + ":16x8");
    EXPECT_EQ(machine.numDevices(), 128) << name.str();
    ASSERT_EQ(machine.devices.size(), 1u);
    EXPECT_GT(machine.devices[0].memoryBytes, 4e9);
    EXPECT_GT(machine.devices[0].attentionBytesPerSecond, 0);
    // More bytes take longer, and so do sums that leave a node.
    for (const artifact::CollectiveForm &form : artifact::kCollectiveForms)
      for (const Route &route : {Route{8, 1, 8}, Route{32, 4, 8}}) {
        double before = 0;
        for (double bytes = 1; bytes < 1e11; bytes *= 3) {
          const double seconds =
              collectiveSeconds(machine, form.kind, route, bytes);
          EXPECT_GT(seconds, 0) << name.str() << " " << form.name.data();
          EXPECT_GE(seconds, before) << name.str() << " " << form.name.data();
          EXPECT_GT(sendSeconds(machine, route, bytes), 0) << name.str();
          before = seconds;
        }
      }
    auto sum = [&](Route route) {
      return collectiveSeconds(machine, CollectiveKind::AllReduce, route, 1e6);
    };
    EXPECT_GE(sum({32, 4, 8}), sum({8, 1, 8})) << name.str();
  }
  EXPECT_FALSE(isPreset("cluster.json"));
}

TEST(Machine, whatAFileSaysTakesThePlaceOfItsPreset) {
  const Machine machine = read(R"({
    "nodes": 2, "preset": "h100", "devices": ["h200", "a100"],
    "between_nodes": {"send": [[1024, 10], [1048576, 50]]}})");
  EXPECT_EQ(machine.devicesPerNode, 8);
  ASSERT_EQ(machine.devices.size(), 2u);
  EXPECT_EQ(machine.devices[1].name, "NVIDIA A100 SXM4 80GB");
  EXPECT_DOUBLE_EQ(machine.between.send.seconds(1048576), 50e-6);
  EXPECT_FALSE(machine.between.isMeasured(CollectiveKind::AllReduce));
  EXPECT_TRUE(machine.inside.isMeasured(CollectiveKind::AllReduce));
}

TEST(Machine, saysWhatIsWrong) {
  const std::pair<std::string, const char *> cases[] = {
      {"", "no JSON object"},
      {"[1]", "no JSON object"},
      {"h100", "has no size, expected h100:NODESxDEVICES"},
      {"h100:0x8", "\"nodes\" is 0, expected at least 1"},
      {"h100:16", "has no size"},
      {"h1000:1x8", "no JSON object"},
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
       "unknown entry \"hops\""},
      {R"({"nodes": 2, "devices_per_node": 1, "inside_node":
           {"gigabytes_per_second": 1, "microseconds": 1}})",
       "no link \"between_nodes\""},
      {R"({"nodes": 1, "speed": 1})", "unknown entry \"speed\""},
      {R"({"nodes": 1, "preset": "h900"})", "expected one of a100, b200"},
      {R"({"nodes": 1, "preset": "h100", "device": "tpu"})",
       "has the device \"tpu\""},
      {R"({"nodes": 1, "preset": "h100", "device": {}})", "without \"memory\""},
      {R"({"nodes": 2, "preset": "h100", "devices": ["h100"]})",
       "one for each of the 2 nodes"},
      {R"({"nodes": 1, "preset": "h100", "inside_node":
           {"send": [[4, 1], [2, 1]]}})",
       "\"inside_node/send\" is no curve"},
      {R"({"nodes": 1, "preset": "h100", "inside_node":
           {"all_reduce": {"one": [[4, 1]]}}})",
       "expected a number of ranks"},
      {R"({"nodes": 1, "preset": "h100", "device": {
           "memory": {"gigabytes": 8, "gigabytes_per_second": 8},
           "products": {"teraflops": {"16": 1}, "multiprocessors": 0.5}}})",
       "no number \"multiprocessors\""},
      {R"({"nodes": 1, "preset": "h100", "device": {
           "memory": {"gigabytes": 8, "gigabytes_per_second": 1e300},
           "products": {"teraflops": {"16": 1}}}})",
       "out of range"},
      {R"({"nodes": 1, "preset": "h100", "device": {
           "memory": {"gigabytes": 8, "gigabytes_per_second": 8},
           "products": {"teraflops": {"16": 1}, "reached": {"8": 1}}}})",
       "which \"teraflops\" has not"},
      {R"({"nodes": 1, "preset": "h100", "device": {
           "memory": {"gigabytes": 8, "gigabytes_per_second": 8},
           "products": {"teraflops": {"16": 1}}, "attention": 1}})",
       "\"attention\" is no object"},
      {R"({"nodes": 1, "devices_per_node": 2, "inside_node":
           {"all_reduce": {"2": [[4, 1]]}}})",
       "has no \"send\""},
  };
  for (const auto &[text, expected] : cases) {
    Machine machine;
    std::string problem = parseMachine(text, machine);
    EXPECT_NE(problem.find(expected), std::string::npos)
        << text << ": " << problem;
  }
}

/// Of two nodes; each device is an object of what it has beside its name.
std::string twoDevices(const std::string &first, const std::string &second,
                       Machine &machine) {
  auto device = [](const std::string &name, int gigabytes) {
    return "{" + name +
           "\"memory\": {\"gigabytes\": " + std::to_string(gigabytes) +
           ", \"gigabytes_per_second\": 100}, \"products\": {\"teraflops\": "
           "{\"16\": 1}}}";
  };
  return parseMachine("{\"nodes\": 2, \"preset\": \"h100\", \"devices\": [" +
                          device(first, 8) + ", " + device(second, 16) + "]}",
                      machine);
}

TEST(Machine, unequalDevicesHaveUnequalNames) {
  Machine machine;
  EXPECT_EQ(twoDevices("", "", machine), "");
  EXPECT_NE(machine.devices[0].name, machine.devices[1].name);
  EXPECT_EQ(twoDevices("\"name\": \"a\", ", "\"name\": \"b\", ", machine), "");
  EXPECT_NE(twoDevices("\"name\": \"a\", ", "\"name\": \"a\", ", machine)
                .find("unequal devices that are called \"a\""),
            std::string::npos);
  EXPECT_EQ(parseMachine("{\"nodes\": 2, \"preset\": \"h100\", \"devices\": "
                         "[\"l40s\", \"l40s\"]}",
                         machine),
            "");
  EXPECT_EQ(machine.devices[0].name, machine.devices[1].name);
}

TEST(Machine, groupsAreRanksThatDifferInTheAxes) {
  dist::Mesh mesh{{{"pp", 2}, {"tp", 4}}};
  using Groups = std::vector<llvm::SmallVector<int64_t>>;
  EXPECT_EQ(groupsOf(mesh, {axis("tp", 4)}),
            (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(groupsOf(mesh, {axis("tp", 2)}),
            (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(groupsOf(mesh, {axis("tp", 2, 2)}),
            (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
}

TEST(Machine, theOrderOfAxesDecidesWhatSharesANode) {
  const Machine machine = read(kTwoNodes);
  dist::Mesh inner{{{"pp", 2}, {"tp", 4}}}, outer{{{"tp", 4}, {"pp", 2}}};
  EXPECT_EQ(routeOf(machine, inner, {axis("tp", 4)}).nodes, 1);
  EXPECT_EQ(routeOf(machine, outer, {axis("tp", 4)}).nodes, 2);
  // The minor half of tp: ranks 0 and 2.
  EXPECT_EQ(routeOf(machine, outer, {axis("tp", 2, 2)}).nodes, 1);
  EXPECT_EQ(routeOfTransfer(machine, inner, 0, 1).nodes, 2);
  EXPECT_EQ(routeOfTransfer(machine, outer, 0, 1).nodes, 1);
}

TEST(Machine, ranksOfANodeShareTheWayOut) {
  const Machine machine = read(kTwoNodes);
  auto seconds = [&](CollectiveKind kind, Route route, double bytes) {
    return collectiveSeconds(machine, kind, route, bytes);
  };
  // 4 ranks, 4 MB: 2 x 3 steps of 1 MB for an all_reduce.
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::AllReduce, {4, 1, 4}, 4e6),
                   6 * 12e-6);
  // One rank on each of two nodes: 2 steps of 2 MB over the slow link.
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::AllReduce, {2, 2, 1}, 4e6),
                   2 * 220e-6);
  // Four on each: inside, and 2 steps of 500 KB between.
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::AllReduce, {8, 2, 4}, 4e6),
                   6 * 12e-6 + 2 * 70e-6);
  EXPECT_DOUBLE_EQ(sendSeconds(machine, {2, 2, 1}, 1e6), 120e-6);
  // 8 parts around a ring: each of 7 steps waits for the slow link.
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::Shift, {8, 2, 4}, 8e6), 7 * 120e-6);
}

TEST(Device, productsOfFewRowsLeaveMultiprocessorsIdle) {
  const Device device = presetDevice("h100");
  auto seconds = [&](int64_t rows) {
    return productSeconds(device, {rows, 4096, 1024, 16}) - device.startSeconds;
  };
  // 128 tiles for 132 of them; 136, so that a second wave has four.
  EXPECT_GT(seconds(2048 + 64), 1.2 * seconds(2048));
  EXPECT_GT(seconds(4096), 1.9 * seconds(2048));
  // One row is a matter of memory.
  EXPECT_NEAR(productSeconds(device, {1, 16384, 16384, 16}), 191e-6, 10e-6);
}

/// Each part makes numbers of all weights, so that parts pay later.
TEST(Device, quantisedWeightsAreReadTwice) {
  Device device;
  device.multiplyAdds[16] = 1e18;
  device.bytesPerSecond = 2;
  const ProductSize plain{1, 10, 3, 16};
  ProductSize quantised = plain;
  quantised.isDequantized = true;
  EXPECT_DOUBLE_EQ(productSeconds(device, plain), 10 + 30 + 3);
  EXPECT_DOUBLE_EQ(productSeconds(device, quantised), 10 + 30 + 3 + 30);
}

TEST(Device, elementsWithoutARateHaveThatOfWiderOnes) {
  const Device device = presetDevice("a100"); // has none of 8 bits
  EXPECT_EQ(device.rateOf(8), device.rateOf(16));
  EXPECT_GT(device.rateOf(16), device.rateOf(32));
}

} // namespace
