//===- OverlapCost.h - Whether communication beside products pays ---------===//
//
// A product and the collective before or behind it take turns; cut into parts
// by rows, one part's collective runs beside the next part's product:
//
//   whole      | product           | all_reduce       |
//   2 parts    | product | product |  |
//                        | all_reduce | all_reduce |
//
// More parts overlap more, but each collective has its start, and a product of
// few rows leaves multiprocessors idle. Both are counted here, with what NCCL's
// kernels take from the products beside them.
//
// Example, [8192, 4096] x [4096, 8192] in f16, summed over 8 ranks: a product
// of 0.7 ms and 134 MB to sum, 0.6 ms; 4 parts take 1.0 ms instead of 1.3.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_OVERLAPCOST_H
#define SHARDC_PASSES_PLAN_OVERLAPCOST_H

#include "passes/plan/machine/Device.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>

namespace shardc::plan {

/// A collective and the products whose rows are its own.
struct OverlapCase {
  int64_t rows = 0;
  int64_t unitRows = 1; ///< that are never parted
  bool isProductFirst = true;
  /// Seconds for so many of the rows, by themselves.
  llvm::function_ref<double(int64_t)> product, collective;
};

struct OverlapChoice {
  int64_t parts = 1; ///< 1: as a whole
  /// No part but the last has fewer rows; requests with fewer run as a whole.
  int64_t leastRows = 1;
  double before = 0, after = 0; ///< seconds, as a whole and in the best parts
};

/// Rows of each part: equal, but for the last ones, which may be empty.
int64_t rowsOfPart(const OverlapCase &what, int64_t parts, int64_t leastRows);
/// Seconds in parts, beside each other.
double overlappedSeconds(const Device &device, const OverlapCase &what,
                         int64_t parts, int64_t leastRows);
/// As many parts as are fastest, if they save enough to be sure of it.
OverlapChoice chooseParts(const Device &device, const OverlapCase &what);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_OVERLAPCOST_H
