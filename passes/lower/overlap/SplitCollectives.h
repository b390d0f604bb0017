//===- SplitCollectives.h - Collectives in parts, beside products ---------===//
//
// A product before an all_reduce or reduce_scatter, or products behind an
// all_gather, are cut into parts by rows together with it:
//
//   rt.call "MatMul"(%a : 512 x 64, %w) into(%p : 512 x 32)
//   rt.collective "all_reduce" %p into %y
//
// becomes, in two parts,
//
//   rt.call "MatMul"(%a[0:256], %w) into(%p0)
//   rt.collective "all_reduce" %p0 into %y[0:256]
//   rt.call "MatMul"(%a[256:512], %w) into(%p1)
//   rt.collective "all_reduce" %p1 into %y[256:512]
//
// so that the first part's sum may run beside the second part's product. What
// is between has a buffer for each part, since buffers are what is in flight;
// all else are windows, so that no byte moves more than before.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_LOWER_OVERLAP_SPLITCOLLECTIVES_H
#define SHARDC_PASSES_LOWER_OVERLAP_SPLITCOLLECTIVES_H

#include "dialects/rt/Rt.h"
#include "passes/plan/OverlapCost.h"
#include "passes/plan/machine/Machine.h"

#include "llvm/ADT/StringMap.h"

namespace shardc::lower {

struct OverlapOptions {
  plan::Device device;
  plan::Machine machine;          ///< its links
  int64_t parts = 0;              ///< of each; 0: as the prediction says
  llvm::StringMap<int64_t> sizes; ///< of symbols in a typical request
  int64_t nominalSize = 64;       ///< of the others
};

/// A collective that stands beside a product.
struct OverlapDecision {
  std::string node, kind;
  int64_t rows = 0; ///< in a typical request
  int64_t parts = 1;
  double before = 0,
         after = 0; ///< predicted seconds, of product and collective
};

/// Splits those that gain by it.
std::vector<OverlapDecision> splitCollectives(rt::ProgramOp program,
                                              const dist::Mesh &mesh,
                                              const OverlapOptions &options);

} // namespace shardc::lower

#endif // SHARDC_PASSES_LOWER_OVERLAP_SPLITCOLLECTIVES_H
