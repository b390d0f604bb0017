//===- Device.cpp - How long a device takes for what it does --------------===//

#include "passes/plan/machine/Device.h"

#include <algorithm>

namespace shardc::plan {

namespace {

/// Tiles that libraries choose among, and what smaller ones reach of the
/// largest one's speed: they read each operand more often.
struct Tile {
  int64_t rows, columns;
  double speed;
};
constexpr Tile kTiles[] = {{256, 128, 1.0},
                           {128, 128, 1.0},
                           {128, 64, 0.8},
                           {64, 128, 0.8},
                           {64, 64, 0.5}};

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

double Device::rateOf(int64_t elementBits) const {
  if (multiplyAdds.empty())
    return 0;
  auto known = multiplyAdds.lower_bound(elementBits);
  return known != multiplyAdds.end() ? known->second
                                     : multiplyAdds.rbegin()->second;
}

/// Multiprocessors do a tile each, so that the last ones may be idle.
static double waveSeconds(const Device &device, const ProductSize &size,
                          const Tile &tile) {
  const int64_t tiles =
      ceilDiv(size.rows, tile.rows) * ceilDiv(size.columns, tile.columns);
  const double ofTile = static_cast<double>(tile.rows * tile.columns) *
                        static_cast<double>(size.depth) *
                        static_cast<double>(device.multiprocessors) /
                        (device.rateOf(size.elementBits) * tile.speed);
  return static_cast<double>(ceilDiv(tiles, device.multiprocessors)) * ofTile;
}

double productSeconds(const Device &device, const ProductSize &size) {
  double compute = waveSeconds(device, size, kTiles[0]);
  for (const Tile &tile : kTiles)
    compute = std::min(compute, waveSeconds(device, size, tile));
  const auto rows = static_cast<double>(size.rows),
             depth = static_cast<double>(size.depth),
             columns = static_cast<double>(size.columns);
  const double weights = depth * columns;
  const double elements = rows * depth + weights + rows * columns;
  const double secondsOfElement =
      static_cast<double>(size.elementBits) / 8 / device.bytesPerSecond;
  const double dequantization =
      size.isDequantized ? weights * secondsOfElement : 0;
  return device.startSeconds + dequantization +
         std::max(compute, elements * secondsOfElement);
}

} // namespace shardc::plan
