//===- KeyParts.h - Parts of the keys instead of copies -------------------===//
//
// Of more ranks than key heads several would hold the same keys, each for some of
// the heads' queries. Where attention to pages sees parts of their places by
// themselves (PagedAttentionPartsOp), each of those ranks has one, of keys that all
// of the heads' queries see; what they have seen goes to the ranks of the queries:
//
//   "tp" = 4, 2 key heads, 8 query heads      queries      keys
//   copies     attention                      2 each       1 head, all places
//   parts      attention                      4 each       1 head, half of them
//              merge                          2 each
//
// The queries are gathered, and what was seen goes from all to all, over the ranks
// of a head: little beside the keys, which are most of what a step reads. Where
// ranks share out the positions of sequences ("cp") they have parts of the keys in
// the same way, of all heads, and the merge has the positions of each.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_KEYPARTS_H
#define SHARDC_PASSES_PLAN_KEYPARTS_H

#include "passes/plan/Plan.h"

namespace shardc::plan {

/// Of each attention whose keys have parts, over the ways of `context` and those by
/// which its query heads are split further than its key heads: as many as its parts
/// divide into. Of 8 such ranks and 2 parts each 4 see the same one.
void splitKeyParts(const Graph &graph, Plan &plan,
                   llvm::ArrayRef<dist::AxisRef> context);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_KEYPARTS_H
