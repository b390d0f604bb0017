#include "runtime/plan/ArenaPlanner.h"

#include "runtime/base/AlignedBuffer.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <queue>
#include <set>

namespace shardc::runtime {
namespace {

using Requests = std::span<const ArenaRequest>;

/// Requests that need memory, earliest first; of equal ones the largest first.
std::vector<uint32_t> orderByTime(Requests requests) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < requests.size(); ++i)
    if (requests[i].bytes > 0)
      order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (requests[a].first != requests[b].first)
      return requests[a].first < requests[b].first;
    return requests[a].bytes > requests[b].bytes;
  });
  return order;
}

/// Free memory below `top`, found by size and by place.
class FreeList {
public:
  int64_t allocate(int64_t bytes) {
    auto fit = bySize.lower_bound({bytes, 0});
    if (fit == bySize.end())
      return grow(bytes);
    auto [size, offset] = *fit;
    remove(offset, size);
    if (size > bytes)
      insert(offset + bytes, size - bytes);
    return offset;
  }

  void release(int64_t offset, int64_t bytes) {
    auto next = byOffset.lower_bound(offset);
    if (next != byOffset.end() && next->first == offset + bytes) {
      bytes += next->second;
      remove(next->first, next->second);
    }
    auto after = byOffset.lower_bound(offset);
    if (after != byOffset.begin()) {
      auto before = std::prev(after);
      if (before->first + before->second == offset) {
        offset = before->first;
        bytes += before->second;
        remove(before->first, before->second);
      }
    }
    insert(offset, bytes);
  }

  int64_t peak() const { return top; }

private:
  /// At the end; what is free there already is used too.
  int64_t grow(int64_t bytes) {
    int64_t offset = top;
    if (!byOffset.empty()) {
      auto [begin, size] = *byOffset.rbegin();
      if (begin + size == top) {
        offset = begin;
        remove(begin, size);
      }
    }
    top = offset + bytes;
    return offset;
  }
  void insert(int64_t offset, int64_t bytes) {
    byOffset.emplace(offset, bytes);
    bySize.emplace(bytes, offset);
  }
  void remove(int64_t offset, int64_t bytes) {
    byOffset.erase(offset);
    bySize.erase({bytes, offset});
  }

  std::map<int64_t, int64_t> byOffset;
  std::set<std::pair<int64_t, int64_t>> bySize;
  int64_t top = 0;
};

/// Allocates and frees in program order; best fit. n log n.
ArenaLayout planByTime(Requests requests, std::span<const uint32_t> order) {
  ArenaLayout layout;
  layout.offsets.assign(requests.size(), 0);
  FreeList free;
  using Ending = std::pair<uint32_t, uint32_t>; // last use, request
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> live;
  for (uint32_t i : order) {
    while (!live.empty() && live.top().first < requests[i].first) {
      uint32_t ended = live.top().second;
      live.pop();
      free.release(layout.offsets[ended], alignBuffer(requests[ended].bytes));
    }
    layout.offsets[i] = free.allocate(alignBuffer(requests[i].bytes));
    live.emplace(requests[i].last, i);
  }
  layout.bytes = free.peak();
  return layout;
}

/// For each request those that live at the same time; false if they are too
/// many altogether.
bool findNeighbours(Requests requests, std::span<const uint32_t> order,
                    std::vector<std::vector<uint32_t>> &neighbours) {
  neighbours.resize(requests.size());
  std::vector<uint32_t> live;
  size_t pairs = 0;
  for (uint32_t i : order) {
    std::erase_if(live, [&](uint32_t other) {
      return requests[other].last < requests[i].first;
    });
    pairs += live.size();
    if (pairs > kMaxGreedyPairs)
      return false;
    for (uint32_t other : live) {
      neighbours[i].push_back(other);
      neighbours[other].push_back(i);
    }
    live.push_back(i);
  }
  return true;
}

/// Smallest gap between the sorted, possibly overlapping `taken` intervals that
/// holds `bytes`, or their end.
int64_t bestGap(std::span<const std::pair<int64_t, int64_t>> taken,
                int64_t bytes) {
  int64_t best = -1, bestSize = INT64_MAX, end = 0;
  for (auto [begin, finish] : taken) {
    int64_t gap = begin - end;
    if (gap >= bytes && gap < bestSize) {
      best = end;
      bestSize = gap;
    }
    end = std::max(end, finish);
  }
  return best >= 0 ? best : end;
}

/// Places the largest first, each into the tightest gap among its neighbours.
ArenaLayout planBySize(Requests requests, std::vector<uint32_t> order,
                       const std::vector<std::vector<uint32_t>> &neighbours) {
  ArenaLayout layout;
  layout.offsets.assign(requests.size(), -1);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return requests[a].bytes > requests[b].bytes;
  });
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (uint32_t i : order) {
    taken.clear();
    for (uint32_t other : neighbours[i])
      if (int64_t at = layout.offsets[other]; at >= 0)
        taken.emplace_back(at, at + alignBuffer(requests[other].bytes));
    std::sort(taken.begin(), taken.end());
    int64_t bytes = alignBuffer(requests[i].bytes);
    layout.offsets[i] = bestGap(taken, bytes);
    layout.bytes = std::max(layout.bytes, layout.offsets[i] + bytes);
  }
  for (int64_t &offset : layout.offsets)
    offset = std::max<int64_t>(offset, 0); // the empty ones
  return layout;
}

} // namespace

ArenaLayout planArena(std::span<const ArenaRequest> requests) {
  std::vector<uint32_t> order = orderByTime(requests);
  ArenaLayout byTime = planByTime(requests, order);
  std::vector<std::vector<uint32_t>> neighbours;
  if (!findNeighbours(requests, order, neighbours))
    return byTime;
  ArenaLayout bySize = planBySize(requests, std::move(order), neighbours);
  return bySize.bytes < byTime.bytes ? bySize : byTime;
}

const ArenaLayout &ArenaMemo::plan(std::vector<ArenaRequest> requests) {
  bool isKnown = sizes.size() == requests.size();
  sizes.resize(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    int64_t &bytes = requests[i].bytes;
    const auto step =
        std::max(kBufferAlignment,
                 static_cast<int64_t>(
                     std::bit_floor(static_cast<uint64_t>(bytes)) / 16));
    bytes = (bytes + step - 1) / step * step;
    isKnown &= sizes[i] == bytes;
    sizes[i] = bytes;
  }
  if (!isKnown)
    layout = planArena(requests);
  return layout;
}

} // namespace shardc::runtime
