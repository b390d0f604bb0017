//===- LaunchStats.h - How often programs ran, and how --------------------===//
#ifndef SHARDC_RUNTIME_RANK_LAUNCHSTATS_H
#define SHARDC_RUNTIME_RANK_LAUNCHSTATS_H

#include <cstdint>

namespace shardc::runtime {

/// How often ranks have run a program, or a part between two waits for its own
/// data, and how: launch after launch, as a device had just captured it, as it
/// had captured it in an earlier run for other sizes, of which only the launches
/// that changed were set anew, or as it had captured it.
struct LaunchStats {
  int64_t launched = 0;
  int64_t captured = 0;
  int64_t updated = 0;
  int64_t replayed = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_RANK_LAUNCHSTATS_H
