#include "runtime/serve/StepPace.h"

#include <algorithm>
#include <cmath>

namespace shardc::runtime {

// Smaller parts are not worth a pass over the weights.
static constexpr double kLeast = 16;
static constexpr double kMost = 1e6;

void StepPace::took(int64_t count, double time) {
  constexpr double kKept = 0.95; // of what was known before
  const auto n = static_cast<double>(count);
  weight = kKept * weight + 1;
  tokens = kKept * tokens + n;
  seconds = kKept * seconds + time;
  squares = kKept * squares + n * n;
  products = kKept * products + n * time;
  const double mean = tokens / weight;
  const double variance = squares / weight - mean * mean;
  const double slope =
      (products / weight - mean * (seconds / weight)) / variance;
  // Steps that are all alike say nothing of it, nor do those that others held up.
  if (variance < 0.01 * mean * mean || !std::isfinite(slope) || slope <= 0)
    return;
  const double base = seconds / weight - slope * mean;
  extra = std::clamp(base / slope, 0.0, kMost);
}

int64_t StepPace::prompts(int64_t decoding, double slowdown) const {
  if (decoding == 0 || slowdown == 0)
    return INT64_MAX;
  const double room = (slowdown - 1) * (extra + static_cast<double>(decoding));
  return static_cast<int64_t>(std::clamp(room, kLeast, kMost));
}

} // namespace shardc::runtime
