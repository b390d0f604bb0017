//===- RankShapePlan.h - A rank's plan for one set of input shapes --------===//
//
// Which plans are kept the stage decides (stage/ShapePlan.h): a step says in
// which slot its shape has one. Segments behind a read_sizes are bound when
// they are reached, and again when the data say other sizes.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_RANK_RANKSHAPEPLAN_H
#define SHARDC_RUNTIME_RANK_RANKSHAPEPLAN_H

#include "runtime/plan/InputSlices.h"
#include "runtime/plan/RankPlan.h"
#include "runtime/rank/OutputBlock.h"
#include "runtime/runner/RankRunner.h"
#include "runtime/runner/SegmentGraph.h"

#include <vector>

namespace shardc::runtime {

struct SegmentPlan {
  bool isReady = false;
  std::vector<int64_t> symbols; ///< that it was bound to
  RankPlan plan;
  SegmentGraph graph;
};

struct RankShapePlan {
  InputSlices inputs;
  std::vector<SegmentPlan> segments;
  std::vector<OutputBlock> outputs; ///< once all their sizes are known
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

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_RANK_RANKSHAPEPLAN_H
