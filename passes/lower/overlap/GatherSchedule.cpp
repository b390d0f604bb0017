//===- GatherSchedule.cpp - When shared weights are gathered --------------===//

#include "passes/lower/overlap/GatherSchedule.h"

#include <algorithm>
#include <map>

namespace shardc::lower {

int64_t largestLayer(llvm::ArrayRef<GatheredWeight> weights) {
  std::map<int64_t, int64_t> layers;
  int64_t largest = 0, largestWeight = 0;
  for (const GatheredWeight &weight : weights) {
    largestWeight = std::max(largestWeight, weight.bytes);
    if (weight.layer)
      largest = std::max(largest, layers[*weight.layer] += weight.bytes);
  }
  return layers.empty() ? largestWeight : largest;
}

/// By weight: bytes of those before it that are there when it is first used.
static std::vector<int64_t> stillThere(llvm::ArrayRef<GatheredWeight> weights) {
  std::vector<int64_t> bytes(weights.size());
  std::multimap<size_t, int64_t> live; // by last use
  int64_t sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto end = live.lower_bound(weights[i].firstUse);
    for (auto gone = live.begin(); gone != end; ++gone)
      sum -= gone->second;
    live.erase(live.begin(), end);
    bytes[i] = sum;
    live.emplace(weights[i].lastUse, weights[i].bytes);
    sum += weights[i].bytes;
  }
  return bytes;
}

std::vector<size_t> scheduleGathers(llvm::ArrayRef<GatheredWeight> weights) {
  const int64_t layer = largestLayer(weights);
  const std::vector<int64_t> before = stillThere(weights);
  std::vector<size_t> starts;
  for (size_t i = 0; i < weights.size(); ++i) {
    const int64_t room = std::min(layer, 2 * layer - weights[i].bytes);
    size_t start = i;
    int64_t between = 0; // of those from `start` up to this one
    while (start > 0 && weights[start - 1].firstUse >= weights[i].earliest &&
           before[start - 1] + between + weights[start - 1].bytes <= room)
      between += weights[--start].bytes;
    starts.push_back(weights[start].firstUse);
  }
  return starts;
}

} // namespace shardc::lower
