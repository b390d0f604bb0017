//===- ShapePlan.h - What a stage keeps of a set of input shapes ----------===//
//
// Shapes are told apart by the values of the symbols that inputs bind, and by
// whether a state keeps past. The plans of the last few are kept, so alternating
// between two lengths prepares nothing again; a new length is bound to the plan
// that is missed least. The ranks have theirs under the same slot.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_STAGE_SHAPEPLAN_H
#define SHARDC_RUNTIME_STAGE_SHAPEPLAN_H

#include "runtime/rank/OutputBlock.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

namespace shardc::runtime {

struct ShapePlan {
  size_t slot = 0;
  /// Every rank has run it. Until then some may be bound to another shape, and
  /// it is new to all.
  bool isBound = false;
  std::vector<int64_t> symbols;
  bool hasState = false; ///< past is not sliced from the caller's tensors
  std::vector<std::vector<int64_t>> outputDims; ///< by output
  /// By output and rank; where outputs come from other processes.
  std::vector<std::vector<OutputBlock>> outputBlocks;
  /// By input: where kernels of a device may read what a caller has there, in the
  /// last run; null: nowhere. And the number of these places, never used again.
  std::vector<const void *> inputPlaces;
  uint64_t inputPlacement = 0;
  uint64_t lastUsed = 0;
  int uses = 0;
  int measuredRuns = 0; ///< that the timings sum up

  /// Which of two plans is bound to new sizes. One that served several requests
  /// is worth more than one that served one: of decoding steps, each has a
  /// length that never comes again. The more of its symbols stay, the less is
  /// bound anew, and the more of what was captured stays: a step takes the plan
  /// of a step, not the prompt's.
  bool isWorthLess(const ShapePlan &other,
                   std::span<const int64_t> wanted) const {
    const bool isOften = uses > 1, isOtherOften = other.uses > 1;
    if (isOften != isOtherOften)
      return isOtherOften;
    const int alike = numAlike(wanted), otherAlike = other.numAlike(wanted);
    return alike != otherAlike ? alike > otherAlike : lastUsed < other.lastUsed;
  }
  int numAlike(std::span<const int64_t> values) const {
    return std::inner_product(symbols.begin(), symbols.end(), values.begin(), 0,
                              std::plus<>(), std::equal_to<>());
  }

  bool isFor(std::span<const int64_t> values, bool withState) const {
    return hasState == withState && std::equal(symbols.begin(), symbols.end(),
                                               values.begin(), values.end());
  }
};

/// Of one program, the last few.
class ShapePlans {
public:
  /// Null: there is none for these sizes.
  ShapePlan *find(std::span<const int64_t> symbols, bool hasState) const;
  /// A new one; the one that was missed least goes where there are many.
  ShapePlan &add(std::span<const int64_t> symbols, bool hasState);

private:
  size_t freeSlot(std::span<const int64_t> symbols);

  std::vector<std::unique_ptr<ShapePlan>> plans;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_STAGE_SHAPEPLAN_H
