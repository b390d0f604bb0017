//===- SliceUses.h - When a program reads its weights ---------------------===//
#ifndef SHARDC_RUNTIME_WEIGHTS_SLICEUSES_H
#define SHARDC_RUNTIME_WEIGHTS_SLICEUSES_H

#include "runtime/artifact/Format.h"

#include <cstdint>
#include <vector>

namespace shardc::runtime {

/// When a program reads its slices, in the order of RankWeights.
struct SliceUses {
  static constexpr uint64_t kNever = UINT64_MAX;
  std::vector<char> load;      ///< the load-time program does
  std::vector<uint64_t> first; ///< step of the first read of a run
  uint64_t end = 0;            ///< the step behind the program
};

/// Which slices of weights a run reads, in the order of RankWeights: what stays
/// when all is loaded.
std::vector<char> usedSlices(const artifact::Program &program);
/// When slices are read, in the same order, where the program's instructions
/// are the steps from `firstStep` on.
SliceUses findSliceUses(const artifact::Program &program, uint64_t firstStep);
/// Of such a program: its instructions, and the one behind them.
inline uint64_t numSteps(const artifact::Program &program) {
  return program.run()->size() + 1;
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_WEIGHTS_SLICEUSES_H
