//===- ShapePlan.h - All ranks' plans for one set of input shapes ---------===//
//
// Shapes are told apart by the values of the symbols that inputs bind, and by
// whether a state keeps past. A session keeps the plans of the last few, so
// alternating between two lengths prepares nothing again; a new length is bound
// to the plan that is missed least. Segments behind a read_sizes are prepared
// when they are reached, and again when the data say other sizes.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_RANK_SHAPEPLAN_H
#define SHARDC_RUNTIME_RANK_SHAPEPLAN_H

#include "runtime/plan/InputSlices.h"
#include "runtime/plan/RankPlan.h"
#include "runtime/rank/RankRunner.h"
#include "runtime/rank/SegmentGraph.h"

#include <functional>
#include <numeric>
#include <vector>

namespace shardc::runtime {

struct SegmentPlan {
  bool isReady = false;
  std::vector<int64_t> symbols; ///< that it was prepared for
  /// By rank; empty for the first segment, which has the shape's.
  std::vector<std::vector<int64_t>> scalars;
  RankPlan plan;
  SegmentGraph graph;
};

/// One rank's.
struct RankShapePlan {
  InputSlices inputs;
  std::vector<SegmentPlan> segments;
  /// By instruction of the program; empty: not measured.
  std::vector<InstructionTiming> timings;
  /// Of the last run, where the device notes them; tags are instructions.
  std::vector<DeviceActivity> activities;

  RankPlan &last() { return segments.back().plan; }
  /// Calls `visit(plan, instruction)` for each instruction, in order.
  template <typename Visit> void forEachInstruction(Visit visit) const {
    for (const SegmentPlan &segment : segments)
      for (const BoundInstruction &instruction : segment.plan.instructions())
        visit(segment.plan, instruction);
  }
};

/// A rank's part of an output.
struct OutputBlock {
  std::vector<OwnedRuns> dims;
  bool copies = true; ///< false: a lower rank holds the same block
};

struct ShapePlan {
  std::vector<int64_t> symbols;
  bool hasState = false; ///< past is not sliced from the caller's tensors
  std::vector<std::vector<int64_t>> scalars; ///< by rank
  std::vector<RankShapePlan> ranks;
  std::vector<std::vector<int64_t>> outputDims;       ///< by output
  std::vector<std::vector<OutputBlock>> outputBlocks; ///< by output and rank
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

  /// The first rank whose times are kept; null if none are.
  const RankShapePlan *firstMeasured() const {
    for (const RankShapePlan &rank : ranks)
      if (!rank.timings.empty())
        return &rank;
    return nullptr;
  }
  bool isMeasured() const { return firstMeasured() != nullptr; }

  /// Evaluates the scalars of all ranks.
  Status evaluate(const artifact::Program &program,
                  std::span<const int64_t> values);

  /// Once all sizes of the outputs are known (`finalScalars`, by rank): decides
  /// which rank copies which block of the outputs, and checks that the blocks
  /// are all there is.
  Status assignOutputs(const artifact::Program &program,
                       std::span<const std::vector<int64_t>> finalScalars);
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_RANK_SHAPEPLAN_H
