//===- Device.cpp - How long a device takes for what it does --------------===//

#include "passes/plan/machine/Device.h"

#include <algorithm>

namespace shardc::plan {

namespace {

/// Of the depth of a tile: as many, and none with less.
constexpr int64_t kMostParts = 8, kLeastDepth = 256;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

std::vector<Tile> gpuTiles() {
  return {{256, 128, 1.0},
          {128, 128, 1.0},
          {128, 64, 0.8},
          {64, 128, 0.8},
          {64, 64, 0.5}};
}

double Device::rateOf(int64_t elementBits) const {
  if (multiplyAdds.empty())
    return 0;
  auto known = multiplyAdds.lower_bound(elementBits);
  return known != multiplyAdds.end() ? known->second
                                     : multiplyAdds.rbegin()->second;
}

/// Multiprocessors do a tile each, so that the last ones may be idle. Where
/// there are few tiles, several do one, each a part of its depth, and the sums
/// are added up: in f32, written and read once.
static double waveSeconds(const Device &device, const ProductSize &size,
                          const Tile &tile, int64_t parts) {
  const int64_t tiles = ceilDiv(size.rows, tile.rows) *
                        ceilDiv(size.columns, tile.columns) * size.products *
                        parts;
  const double ofTile =
      static_cast<double>(tile.rows * tile.columns) *
      (static_cast<double>(size.depth) / static_cast<double>(parts) +
       device.tileStart) *
      static_cast<double>(device.multiprocessors) /
      (device.rateOf(size.elementBits) * tile.speed);
  const double sums =
      parts == 1
          ? 0
          : 4 * static_cast<double>(parts * size.products * size.rows) *
                static_cast<double>(size.columns) / device.bytesPerSecond;
  return static_cast<double>(ceilDiv(tiles, device.multiprocessors)) * ofTile +
         sums;
}

ProductSeconds partsOfProduct(const Device &device, const ProductSize &size) {
  ProductSeconds seconds;
  seconds.start = device.startSeconds;
  seconds.compute = waveSeconds(device, size, device.tiles.front(), 1);
  for (const Tile &tile : device.tiles)
    for (int64_t parts = 1; parts == 1 || (parts <= kMostParts &&
                                           size.depth >= parts * kLeastDepth);
         parts *= 2)
      seconds.compute =
          std::min(seconds.compute, waveSeconds(device, size, tile, parts));
  const auto rows = static_cast<double>(size.rows),
             depth = static_cast<double>(size.depth),
             columns = static_cast<double>(size.columns);
  const double weights = depth * columns;
  const double elements = rows * depth + weights + rows * columns;
  const double secondsOfElement = static_cast<double>(size.products) *
                                  static_cast<double>(size.elementBits) / 8 /
                                  device.bytesPerSecond;
  const double dequantization =
      size.isDequantized ? weights * secondsOfElement : 0;
  seconds.memory = elements * secondsOfElement;
  seconds.start += dequantization;
  return seconds;
}

double productSeconds(const Device &device, const ProductSize &size) {
  const ProductSeconds seconds = partsOfProduct(device, size);
  return seconds.start + std::max(seconds.compute, seconds.memory);
}

} // namespace shardc::plan
