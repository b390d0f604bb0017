//===- Statistics.h - What runs needed and took ---------------------------===//
#ifndef SHARDC_RUNTIME_STAGE_STATISTICS_H
#define SHARDC_RUNTIME_STAGE_STATISTICS_H

#include "runtime/rank/LaunchStats.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace shardc::runtime {

/// One collective of the last run, as one group of ranks saw it.
struct CollectiveStats {
  std::string kind;
  std::string node;
  int groupSize;
  int64_t bytes;     ///< of the group's whole value
  int64_t wireBytes; ///< sent by all ranks of the group together
};

struct RankMemory {
  int rank;            ///< of the world
  int64_t weightBytes; ///< local slices: mapped + packed
  int64_t packedBytes; ///< of these, copied into memory of the rank
  int64_t loadedBytes; ///< written by the load-time program
  int64_t arenaBytes;  ///< intermediate values, scratch, packed inputs
  /// Of these, what the last run's intermediate values have by their lifetimes:
  /// the same on any device.
  int64_t valueBytes = 0;
  /// Copies of weights in the order that kernels read them; ranks of one
  /// process that read the same weight share one.
  int64_t arrangedBytes = 0;
};

/// Time of one instruction over all measured runs of the last shape; the first
/// one, which waits for weights, only where there is no other.
struct InstructionProfile {
  std::string kernel;
  std::string node;
  bool isCollective;
  double milliseconds; ///< mean over ranks, sum over runs
  // Of the first rank that is here, in one run (trace/Work.h).
  int64_t bytes = 0;        ///< of its operands
  int64_t multiplyAdds = 0; ///< of a product
  int runs = 0;             ///< that were measured
  bool hasFirst = false;    ///< the first one is among them
};

/// Past and present of a cache, by their numbers.
struct CacheInfo {
  size_t input;
  size_t output;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_STAGE_STATISTICS_H
