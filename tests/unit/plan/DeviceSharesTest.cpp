//===- DeviceSharesTest.cpp - Parts of ranks that suit their devices ------===//

#include "passes/plan/machine/DeviceShares.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::plan;

namespace {

using Shares = llvm::SmallVector<int64_t, 2>;

Device device(const char *name, double speed) {
  Device made;
  made.name = name;
  made.multiplyAdds[16] = speed;
  made.bytesPerSecond = speed;
  return made;
}

/// A node for each of these speeds.
Machine machine(std::vector<double> speeds, int64_t perNode) {
  Machine machine;
  machine.nodes = int64_t(speeds.size());
  machine.devicesPerNode = perNode;
  for (double speed : speeds)
    machine.devices.push_back(
        device(std::to_string(speed).c_str(), speed * 1e12));
  return machine;
}

dist::Mesh mesh(std::vector<std::pair<const char *, int64_t>> axes) {
  dist::Mesh mesh;
  for (auto [name, size] : axes)
    mesh.axes.push_back({name, size});
  return mesh;
}

TEST(DeviceShares, areSmallNumbersInAboutTheProportions) {
  EXPECT_EQ(smallShares({3.2, 1}), (Shares{3, 1}));
  EXPECT_EQ(smallShares({1.5, 1}), (Shares{3, 2}));
  EXPECT_EQ(smallShares({1.05, 1}), Shares());
  EXPECT_EQ(smallShares({1, 1, 1}), Shares());
  EXPECT_EQ(smallShares({2, 1, 4}), (Shares{2, 1, 4}));
  EXPECT_EQ(smallShares({5000, 1}), (Shares{1000, 1}));
}

/// Never does a device take more than a tenth longer than with exact shares.
TEST(DeviceShares, leaveNoDeviceMuchLonger) {
  for (double ratio = 1; ratio < 30; ratio *= 1.07)
    for (int64_t slow = 1; slow < 4; ++slow) {
      std::vector<double> speeds(4, ratio);
      std::fill_n(speeds.begin(), slow, 1.0);
      Shares shares = smallShares(speeds);
      if (shares.empty())
        shares.assign(4, 1);
      double given = 0, all = 0;
      for (int way = 0; way < 4; ++way) {
        given += double(shares[way]);
        all += speeds[way];
      }
      for (int way = 0; way < 4; ++way)
        EXPECT_LE(double(shares[way]) / given * all / speeds[way], 1.11)
            << ratio << ", " << slow << " slow ones";
    }
}

TEST(DeviceShares, goToTheAxesAlongWhichDevicesDiffer) {
  const Machine two = machine({3, 1}, 2);
  auto sharesOf = [&](const dist::Mesh &given) {
    std::string text;
    for (const dist::Axis &axis : withDeviceShares(two, given).axes)
      text += sharesText(axis) + ";";
    return text;
  };
  EXPECT_EQ(sharesOf(mesh({{"tp", 4}})), "tp=3,3,1,1;");
  EXPECT_EQ(sharesOf(mesh({{"cp", 2}, {"tp", 2}})), "cp=3,1;;");
  EXPECT_EQ(sharesOf(mesh({{"tp", 2}, {"cp", 2}})), "tp=3,1;;");
  EXPECT_EQ(sharesOf(mesh({{"tp", 2}})), ";") << "one node has them all";
  EXPECT_EQ(sharesOf(mesh({{"pp", 2}, {"tp", 2}})), ";;")
      << "stages and replicas split no value";
  EXPECT_EQ(sharesOf(mesh({{"tp", 8}})), ";") << "more ranks than devices";
  EXPECT_EQ(deviceOf(two, 1)->name, two.devices[0].name);
  EXPECT_EQ(deviceOf(two, 2)->name, two.devices[1].name);
  EXPECT_EQ(deviceOf(Machine(), 0), nullptr);
}

} // namespace
