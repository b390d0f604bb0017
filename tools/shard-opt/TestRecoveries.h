//===- TestRecoveries.h - Passes for tests of the reference evaluator -----===//
#ifndef SHARDC_TOOLS_SHARD_OPT_TESTRECOVERIES_H
#define SHARDC_TOOLS_SHARD_OPT_TESTRECOVERIES_H

namespace shardc {

/// --shardc-test-evaluate prints what functions of constants give;
/// --shardc-test-validate says whether a function's two results are the same.
void registerTestRecoveries();

} // namespace shardc

#endif // SHARDC_TOOLS_SHARD_OPT_TESTRECOVERIES_H
