//===- SequenceSplit.h - Splitting the positions of a sequence ------------===//
//
// Most of a transformer treats each position of a sequence by itself; only
// attention lets positions see each other. Splitting the sequence needs
// collectives there and nowhere else:
//
//   Context   everything between the inputs and the outputs holds a part of the
//             sequence; attention's keys and values are gathered. Weights stay
//             whole along these axes. (Context parallelism.)
//   Residual  what the tensor-parallel regions leave whole: norms and residuals
//             between the sum of one product's parts and the next product. The
//             all_reduce there becomes a reduce_scatter, and an all_gather
//             comes where the next product needs all positions. (Megatron-LM's
//             sequence parallelism, Korthikanti et al. 2022.)
//
// The sequence is found from data flow: a leaf that no product's matrix has
// (position embeddings may have it), that these products pass through, and that
// some other product mixes. A batch is never mixed: that is how it is found,
// and splitting it needs collectives only where an op takes all rows of it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_SEQUENCESPLIT_H
#define SHARDC_PASSES_PLAN_SEQUENCESPLIT_H

#include "passes/plan/ContextAttention.h"

namespace shardc::plan {

enum class SequenceUse { Context, Residual };

/// Splits sequences over all of `axes` together, at ops that none of them
/// splits yet. Unless attention gathers its keys, ranks have parts of them.
void splitSequences(const Graph &graph, Plan &plan,
                    llvm::ArrayRef<dist::AxisRef> axes, SequenceUse use,
                    ContextMode mode = ContextMode::Gather);

/// The batch: of the dims that come first in an input and are never mixed, the
/// one with the most work. Nothing where the model has none.
std::optional<FactorNode> findBatchLeaf(const Graph &graph);
/// Splits it in the same way, if there is one, from the inputs to the outputs.
void splitBatch(const Graph &graph, Plan &plan,
                llvm::ArrayRef<dist::AxisRef> axes);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_SEQUENCESPLIT_H
