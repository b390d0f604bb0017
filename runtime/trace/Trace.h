//===- Trace.h - Timelines for people -------------------------------------===//
//
// writeTrace makes a file for chrome://tracing and ui.perfetto.dev: one track a
// rank, one slice an instruction of the last run, named by its kernel, with its
// node and shapes; collectives that run beside others are a second track. Where
// a device notes times itself, slices are from the first to the last thing that
// it did for the instruction, and its kernels and copies are a third track.
// Weights that came while the run was under way are a track of their own.
// profileInstructions adds the same times up.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TRACE_TRACE_H
#define SHARDC_RUNTIME_TRACE_TRACE_H

#include "runtime/artifact/Artifact.h"
#include "runtime/rank/RankShapePlan.h"
#include "runtime/weights/WeightFeed.h"

#include <string>
#include <vector>

namespace shardc::runtime {

struct InstructionProfile;

/// The last run of one rank.
struct RankTrace {
  int worldRank = 0;
  const RankShapePlan &plan;
  std::span<const WeightTiming> weights;
};

/// Replaces the file at `path` once it is complete.
Status writeTrace(const std::string &path, const Artifact &artifact,
                  std::span<const RankTrace> ranks);

/// One entry for each instruction that the ranks of a stage have run, means over
/// them. `runs` of them were measured, the first one too if `hasFirst`.
std::vector<InstructionProfile>
profileInstructions(std::span<const RankShapePlan *const> ranks, int runs,
                    bool hasFirst);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRACE_TRACE_H
