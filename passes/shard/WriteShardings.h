//===- WriteShardings.h - The plan as types and reshards ------------------===//
#ifndef SHARDC_PASSES_SHARD_WRITESHARDINGS_H
#define SHARDC_PASSES_SHARD_WRITESHARDINGS_H

#include "passes/plan/Plan.h"
#include "passes/shard/FunctionGraph.h"

namespace shardc::shard {

/// Gives every value of the function the sharding that follows from its plan,
/// and makes each change between a producer and a use an op: a
/// dist.reshard, or a dist.ring where attention takes keys in turn. Weights are
/// cut differently for each use instead. Returns the number of reshards.
unsigned writeShardings(mlir::func::FuncOp function,
                        const FunctionGraph &source, const plan::Plan &plan);

} // namespace shardc::shard

#endif // SHARDC_PASSES_SHARD_WRITESHARDINGS_H
