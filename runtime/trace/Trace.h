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
#include "runtime/rank/ShapePlan.h"

#include <string>
#include <vector>

namespace shardc::runtime {

struct InstructionProfile;

/// The last run of one stage.
struct StageTrace {
  std::vector<int> worldRanks; ///< by rank of the stage
  const ShapePlan &plan;
  std::vector<std::span<const WeightTiming>> weights; ///< by rank of the stage
};

/// Replaces the file at `path` once it is complete.
Status writeTrace(const std::string &path, const Artifact &artifact,
                  std::span<const StageTrace> stages);

/// One entry for each instruction, means over ranks.
std::vector<InstructionProfile> profileInstructions(const ShapePlan &plan);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRACE_TRACE_H
