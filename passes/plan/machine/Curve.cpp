//===- Curve.cpp - How long so many bytes take ----------------------------===//

#include "passes/plan/machine/Curve.h"

#include <algorithm>
#include <cmath>

namespace shardc::plan {

Curve Curve::ofRate(double bytesPerSecond, double latency) {
  Curve curve;
  curve.rate = bytesPerSecond;
  curve.latency = latency;
  return curve;
}

double Curve::seconds(double bytes) const {
  if (points.empty())
    return latency + (rate > 0 ? bytes / rate : 0);
  if (bytes <= points.front().bytes)
    return points.front().seconds;
  const Point &last = points.back();
  if (bytes >= last.bytes)
    return last.seconds * bytes / last.bytes;
  auto above = std::upper_bound(
      points.begin(), points.end(), bytes,
      [](double size, const Point &point) { return size < point.bytes; });
  const Point &low = above[-1], &high = *above;
  const double part =
      std::log(bytes / low.bytes) / std::log(high.bytes / low.bytes);
  return low.seconds * std::pow(high.seconds / low.seconds, part);
}

} // namespace shardc::plan
