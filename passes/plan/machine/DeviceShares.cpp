//===- DeviceShares.cpp - Parts of ranks that suit their devices ----------===//

#include "passes/plan/machine/DeviceShares.h"

#include "dialects/dist/algebra/Shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace shardc::plan {

namespace {

/// Of elements with so many bits most models have most products.
constexpr int64_t kElementBits = 16;
/// What a device may take longer than with exact shares.
constexpr double kMostLonger = 1.1;
/// Beyond it rounding of heads and rows outweighs what is won.
constexpr int64_t kMostOfSlowest = 8;

/// As numbers a second; rates[way] is that of its slowest rank.
std::vector<double> slowestOf(const Machine &machine, const dist::Mesh &mesh,
                              size_t axis, double (*rateOf)(const Device &)) {
  std::vector<double> rates(mesh.axes[axis].size, 0);
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
    double &slowest = rates[mesh.coordinate(rank, axis)];
    const double own = rateOf(*deviceOf(machine, rank));
    slowest = slowest > 0 ? std::min(slowest, own) : own;
  }
  const double all = std::accumulate(rates.begin(), rates.end(), 0.0);
  for (double &rate : rates)
    rate = all > 0 ? rate / all : 1.0 / double(rates.size());
  return rates;
}

} // namespace

const Device *deviceOf(const Machine &machine, int64_t rank) {
  if (machine.devices.empty())
    return nullptr;
  const auto node = static_cast<size_t>(machine.nodeOf(rank));
  return &machine.devices[std::min(node, machine.devices.size() - 1)];
}

std::string sharesText(const dist::Axis &axis) {
  std::string text;
  for (int64_t share : axis.shares)
    text += (text.empty() ? axis.name + "=" : ",") + std::to_string(share);
  return text;
}

llvm::SmallVector<int64_t, 2> smallShares(llvm::ArrayRef<double> speeds) {
  const double all = std::accumulate(speeds.begin(), speeds.end(), 0.0),
               slowest = *std::min_element(speeds.begin(), speeds.end());
  llvm::SmallVector<int64_t, 2> best;
  double least = 0;
  for (int64_t ofSlowest = 1; ofSlowest <= kMostOfSlowest; ++ofSlowest) {
    llvm::SmallVector<int64_t, 2> shares;
    for (double speed : speeds)
      shares.push_back(
          std::clamp<int64_t>(std::llround(speed / slowest * double(ofSlowest)),
                              1, dist::kMaxShare));
    const auto given =
        double(std::accumulate(shares.begin(), shares.end(), int64_t(0)));
    double longest = 0;
    for (auto [share, speed] : llvm::zip_equal(shares, speeds))
      longest = std::max(longest, double(share) / given / (speed / all));
    if (best.empty() || longest < least) {
      best = std::move(shares);
      least = longest;
    }
    if (least <= kMostLonger)
      break;
  }
  return dist::reducedShares(best);
}

dist::Mesh withDeviceShares(const Machine &machine, dist::Mesh mesh) {
  if (machine.devices.size() < 2 || machine.numDevices() < mesh.numRanks())
    return mesh;
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    dist::Axis &own = mesh.axes[axis];
    if (own.size == 1 || own.name == dist::kReplicaAxis ||
        own.name == dist::kPipelineAxis)
      continue;
    std::vector<double> speeds =
        slowestOf(machine, mesh, axis, [](const Device &device) {
          return device.rateOf(kElementBits);
        });
    const std::vector<double> reading =
        slowestOf(machine, mesh, axis,
                  [](const Device &device) { return device.bytesPerSecond; });
    for (auto [speed, rate] : llvm::zip_equal(speeds, reading))
      speed = (speed + rate) / 2;
    own.shares = smallShares(speeds);
  }
  return mesh;
}

} // namespace shardc::plan
