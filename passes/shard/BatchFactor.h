//===- BatchFactor.h - May a request run in parts? ------------------------===//
//
// Micro-batches are parts of a request's batch that run one after the other, so
// that the stages of a pipeline work side by side. That gives what the whole
// gives where each row of the batch is computed by itself: the batch passes
// through every op that has it, from dim 0 of the inputs to dim 0 of every
// output, and nothing counts its rows.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_SHARD_BATCHFACTOR_H
#define SHARDC_PASSES_SHARD_BATCHFACTOR_H

#include "passes/shard/FunctionGraph.h"

namespace shardc::shard {

struct BatchFactor {
  llvm::SmallVector<int64_t> inputs;   ///< those with the batch as dim 0
  mlir::Operation *obstacle = nullptr; ///< op that needs the batch as a whole
  std::string why;                     ///< there is none; empty if there is
};

BatchFactor findBatch(mlir::func::FuncOp function, const FunctionGraph &graph);

} // namespace shardc::shard

#endif // SHARDC_PASSES_SHARD_BATCHFACTOR_H
