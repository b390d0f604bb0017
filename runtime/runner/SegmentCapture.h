//===- SegmentCapture.h - A rank's launches, captured ---------------------===//
//
// Stretches of a plan become graphs (SegmentGraph.h says when). All ranks that
// meet in collectives of the plan come to the same result.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_RUNNER_SEGMENTCAPTURE_H
#define SHARDC_RUNTIME_RUNNER_SEGMENTCAPTURE_H

#include "runtime/runner/RankRunner.h"

namespace shardc::runtime {

/// Captures what can be, and runs nothing. None if it fails, or is not worth
/// it, on this rank or one that it meets in collectives of the plan. The error:
/// another rank has failed, or does not come.
Status captureTogether(RankPlan &plan, int rank, const RunControl &control,
                       std::vector<CapturedStretch> &captured);

/// Gives the graphs of a plan that is bound to other sizes now, or whose memory
/// is elsewhere, the launches that `changed`: instructions of the plan, in
/// order. Afterwards the graphs are what captureTogether would make of it, if
/// that `isUpdated`; else they are of no use on any rank: another kernel is
/// launched, or a collective has changed.
Status updateTogether(RankPlan &plan, int rank, const RunControl &control,
                      std::span<const size_t> changed,
                      std::span<const CapturedStretch> captured,
                      bool &isUpdated);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_RUNNER_SEGMENTCAPTURE_H
