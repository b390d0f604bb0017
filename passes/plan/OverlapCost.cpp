//===- OverlapCost.cpp - Whether communication beside products pays -------===//

#include "passes/plan/OverlapCost.h"

#include <algorithm>

namespace shardc::plan {

namespace {

/// Parts that are tried; more of them only add starts.
constexpr int64_t kParts[] = {2, 3, 4, 6, 8};

/// A prediction is not exact: what saves less than this stays as it is.
constexpr double kLeastShare = 0.05, kLeastSeconds = 3e-6;

bool isWorthIt(double before, double after) {
  return before - after >= std::max(kLeastShare * before, kLeastSeconds);
}

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

std::optional<DeviceModel> findDeviceModel(llvm::StringRef target) {
  if (target != "cuda")
    return std::nullopt;
  // The accelerators of the day, as in DeviceBalance (PlanCost.h): an H100 or
  // H200, at three quarters of its peak.
  DeviceModel device;
  device.narrow = 0.75 * 495e12;
  device.single = 0.75 * 33e12;
  device.wide = 0.75 * 33e12;
  device.memoryBytesPerSecond = 3.4e12;
  device.multiprocessors = 132;
  device.tileRows = device.tileColumns = 128;
  device.startSeconds = 2e-6;
  device.speedBeside = 0.85; // NCCL holds some 20 multiprocessors
  return device;
}

double productSeconds(const DeviceModel &device, const ProductSize &size) {
  const double speed = size.elementBits <= 16   ? device.narrow
                       : size.elementBits <= 32 ? device.single
                                                : device.wide;
  // Multiprocessors do a tile each, so that the last ones may be idle.
  const int64_t tiles = ceilDiv(size.rows, device.tileRows) *
                        ceilDiv(size.columns, device.tileColumns);
  const double tile =
      static_cast<double>(device.tileRows * device.tileColumns * size.depth) *
      static_cast<double>(device.multiprocessors) / speed;
  const double compute =
      static_cast<double>(ceilDiv(tiles, device.multiprocessors)) * tile;
  const double weights =
      static_cast<double>(size.depth) * static_cast<double>(size.columns);
  const double elements =
      static_cast<double>(size.rows) * static_cast<double>(size.depth) +
      weights +
      static_cast<double>(size.rows) * static_cast<double>(size.columns);
  const double secondsOfElement =
      static_cast<double>(size.elementBits) / 8 / device.memoryBytesPerSecond;
  const double dequantization =
      size.isDequantized ? weights * secondsOfElement : 0;
  return device.startSeconds + dequantization +
         std::max(compute, elements * secondsOfElement);
}

int64_t rowsOfPart(const OverlapCase &what, int64_t parts, int64_t leastRows) {
  const int64_t units = ceilDiv(what.rows, what.unitRows);
  return what.unitRows *
         std::max(ceilDiv(leastRows, what.unitRows), ceilDiv(units, parts));
}

double overlappedSeconds(const DeviceModel &device, const OverlapCase &what,
                         int64_t parts, int64_t leastRows) {
  const int64_t size = rowsOfPart(what, parts, leastRows);
  double first = 0, second = 0; // when either is done
  for (int64_t start = 0; start < what.rows; start += size) {
    const int64_t rows = std::min(size, what.rows - start);
    const bool isBeside =
        what.isProductFirst ? start > 0 : start + size < what.rows;
    const double product =
        what.product(rows) / (isBeside ? device.speedBeside : 1);
    const double collective = what.collective(rows);
    first += what.isProductFirst ? product : collective;
    second =
        std::max(first, second) + (what.isProductFirst ? collective : product);
  }
  return second;
}

/// The fewest rows of which two parts are faster than the whole.
static int64_t leastRowsOf(const DeviceModel &device, const OverlapCase &what) {
  int64_t rows = device.tileRows;
  for (; 2 * rows < what.rows; rows *= 2) {
    OverlapCase two = what;
    two.rows = 2 * rows;
    two.unitRows = 1;
    const double before = what.product(two.rows) + what.collective(two.rows);
    if (isWorthIt(before, overlappedSeconds(device, two, 2, rows)))
      break;
  }
  return rows;
}

OverlapChoice chooseParts(const DeviceModel &device, const OverlapCase &what) {
  OverlapChoice choice;
  choice.before = what.product(what.rows) + what.collective(what.rows);
  choice.after = choice.before;
  const int64_t least = leastRowsOf(device, what);
  int64_t best = 1;
  for (int64_t parts : kParts) {
    const double seconds = overlappedSeconds(device, what, parts, least);
    if (parts * least > what.rows || seconds >= choice.after)
      continue;
    best = parts;
    choice.after = seconds;
  }
  if (!isWorthIt(choice.before, choice.after))
    return choice;
  choice.parts = best;
  choice.leastRows = least;
  return choice;
}

} // namespace shardc::plan
