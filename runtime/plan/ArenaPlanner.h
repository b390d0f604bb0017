//===- ArenaPlanner.h - Offsets for buffers by lifetime -------------------===//
//
// A rank's intermediate values share one block of memory: two buffers may have
// the same place if no instruction needs both. Example:
//   {bytes 128, [0, 1]}, {bytes 64, [1, 2]}, {bytes 128, [2, 3]}
//   -> offsets 0, 128, 0; 192 bytes in all
//
// Pure function of its arguments, so every rank of equal sizes gets equal
// offsets. n log n for any input; below kMaxGreedyPairs of neighbours in time
// also the slower and denser best fit by size, and the better of the two.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_PLAN_ARENAPLANNER_H
#define SHARDC_RUNTIME_PLAN_ARENAPLANNER_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shardc::runtime {

/// Memory needed from instruction `first` to instruction `last`, inclusive.
struct ArenaRequest {
  int64_t bytes;
  uint32_t first;
  uint32_t last; ///< >= first
};

struct ArenaLayout {
  std::vector<int64_t> offsets; ///< multiples of kBufferAlignment
  int64_t bytes = 0;            ///< peak: the arena's size
};

inline constexpr size_t kMaxGreedyPairs = 2'000'000;

/// The sum of all sizes must fit into 62 bits.
ArenaLayout planArena(std::span<const ArenaRequest> requests);

/// Remembers the layout of one list of lifetimes, since sizes change little by
/// little: a decoding step has one position more than the one before. Sizes are
/// rounded up by at most a sixteenth, so that most steps find the layout of the
/// last one.
class ArenaMemo {
public:
  /// `requests` differ from those of the last call in their sizes alone.
  const ArenaLayout &plan(std::vector<ArenaRequest> requests);

private:
  std::vector<int64_t> sizes;
  ArenaLayout layout;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_PLAN_ARENAPLANNER_H
