//===- IdleRanks.h - Ranks with less or more work than they should have ---===//
//
//   4 heads over "tp"=6                  two ranks have none
//   2 heads over "tp"=2:[3, 1]           one each, twice the last one's share
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_SHARD_IDLERANKS_H
#define SHARDC_PASSES_SHARD_IDLERANKS_H

#include "passes/shard/FunctionGraph.h"

#include "passes/plan/Plan.h"

namespace shardc::shard {

/// Warns where an axis leaves ranks without work, or has none at all.
void warnAboutIdleRanks(mlir::func::FuncOp function,
                        const FunctionGraph &source, const plan::Plan &plan,
                        const dist::Axis &axis, const dist::Mesh &mesh);

/// Warns where a factor has so few elements that shares of it are far from what
/// they are to be.
void warnAboutRoundedShares(const FunctionGraph &source, const plan::Plan &plan,
                            const dist::Axis &axis, const dist::Mesh &mesh);

} // namespace shardc::shard

#endif // SHARDC_PASSES_SHARD_IDLERANKS_H
