//===- LookupCone.h - Embeddings and what is added to them ----------------===//
//
// An embedding that shares its table with nothing is split by the hidden dim
// and gathered: half the bytes of a vocabulary split. Where other embeddings
// are added first (positions, token types), all of them are split alike and the
// sum is gathered once; likewise the partial sums of a table that is split by
// vocabulary, because the LM head shares it, are added up before the
// all_reduce.
//
//   word  = Gather(E, ids)           [b, s, H/tp]
//   pos   = Gather(P, positions)     [s, H/tp]
//   sum   = Add(word, pos)           [b, s, H/tp] --all_gather--> LayerNorm
//
// The cone of a lookup is the chain of additions from its result, as long as
// each result has one consumer that keeps the split (or the partial sum).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_LOOKUPCONE_H
#define SHARDC_PASSES_PLAN_LOOKUPCONE_H

#include "passes/plan/Plan.h"

namespace shardc::plan {

/// Splits the lookups that are left, and extends the partial sums of those that
/// were split by rows.
void growLookupCones(const Graph &graph, Plan &plan,
                     llvm::ArrayRef<dist::AxisRef> axes);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_LOOKUPCONE_H
