//===- ContextAttention.h - Attention over a split sequence ---------------===//
//
// Where the sequence is split, each rank has some queries and needs all keys
// that they see. On "cp" = 2, 8 positions, 4 heads:
//
//   Gather    rank 0 has queries 0-3, and gathers keys and values 0-7.
//   Ring      Rank 0 has keys 0-3 first, then those of rank 1. No rank holds
//             more than two parts of others (Liu et al. 2023). Under causality
//             late queries see more keys than early ones, so the parts are
//             dealt out zig-zag: rank 0 gets 0 1 6 7, rank 1 gets 2 3 4 5.
//   Ulysses   rank 0 gets heads 0 and 1 of all positions, rank 1 heads 2 and 3
//             (Jacobs et al. 2023). That needs as many heads as ranks.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_CONTEXTATTENTION_H
#define SHARDC_PASSES_PLAN_CONTEXTATTENTION_H

#include "passes/plan/Plan.h"

namespace shardc::plan {

enum class ContextMode { Gather, Ring, Ulysses };

std::optional<ContextMode> symbolizeContextMode(llvm::StringRef text);

/// Whether the operand is keys or values of an attention, and the leaf all of
/// their sequence: ranks may then have parts of it, unless they gather them.
bool mayComeInParts(const Graph &graph, const GraphOp &op, unsigned operand,
                    FactorNode leaf);

/// Decides it for each attention whose queries `axes` split. Those that have
/// too few heads for Ulysses gather, which the plan notes.
void splitAttention(const Graph &graph, Plan &plan,
                    llvm::ArrayRef<dist::AxisRef> axes, ContextMode mode);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_CONTEXTATTENTION_H
