//===- CutSearch.h - Where a pipeline is cut ------------------------------===//
//
// A model is a row of pieces that follow each other; a stage takes some of
// them. A stage's cost is its share of the work, its share of the weights (a
// step of decoding reads them all, and they have to fit), and what it sends and
// receives. The pipeline is as fast as its slowest stage, so the most expensive
// one is made as cheap as it can be; of cuts that are equal in this, those that
// send least.
//
//   work 1 4 4 1, nothing to tell the crossings apart, 2 stages:  1 4 | 4 1
//
// Where it is known what each piece takes (RunCost.h) that is what counts, on the
// devices that a stage has. No stage may then be fuller than a third, or than the
// fullest one of the cuts that are made without:
//
//   4 4 4 4 4 4 seconds, 2 stages, the first on devices twice as fast:
//   4 4 4 4 | 4 4
//
// The best cuts are found, but of thousands of pieces: there a few thousand
// places are compared, spread evenly over them and where least crosses.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_CUTSEARCH_H
#define SHARDC_PASSES_PLAN_CUTSEARCH_H

#include "passes/plan/machine/StageDevices.h"

namespace shardc::plan {

struct Piece {
  double work = 0;          ///< multiply-adds
  double weightBytes = 0;   ///< of the matrices that it reads
  double crossingBytes = 0; ///< from it, or from before, to what follows
  /// By kind of devices (StageDevices.h); none where that is not known.
  std::vector<double> seconds = {};
};

/// The first piece of each stage. `stages` is at least 1 and at most the number
/// of pieces.
std::vector<size_t> searchCuts(const std::vector<Piece> &pieces, size_t stages);
/// By the seconds of the pieces.
std::vector<size_t> searchCuts(const std::vector<Piece> &pieces,
                               const StageDevices &devices);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_CUTSEARCH_H
