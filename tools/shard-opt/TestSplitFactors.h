//===- TestSplitFactors.h - Passes for tests of sharding rules ------------===//
//
//   --shardc-test-list-factors    prints the registered ops, and of each op of
//                                 the module the classes of its factors
//   --shardc-test-split-factors   shards an imported module such that each op
//   is
//                                 split along one factor of its own rule
//
// tests/equivalence/test_rules.py runs what comes out on several ranks and on
// one.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARD_OPT_TESTSPLITFACTORS_H
#define SHARDC_TOOLS_SHARD_OPT_TESTSPLITFACTORS_H

namespace shardc {

void registerTestSplitFactors();

} // namespace shardc

#endif // SHARDC_TOOLS_SHARD_OPT_TESTSPLITFACTORS_H
