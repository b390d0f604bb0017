//===- AxisRoles.h - What the axes of a mesh are for ----------------------===//
//
// Rows of the batch go to the ranks of "fsdp", which share out the weights among
// them (StoredWeights.h). Experts go to the ranks of "ep"; the matrices inside of each expert, and
// everything else, to those of "tp" (and of any axis of another name);
// sequences to "cp". Outside of a mixture "ep" serves
//
//   Tensor   as more tensor parallelism: less weight on each rank, and a sum
//            over all ranks after each attention
//   Batch    by rows of the batch: no collective outside of the mixture, to
//            which tokens go by dispatch and combine; but each rank holds all
//            else whole, and idles where there are fewer rows than ranks
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_AXISROLES_H
#define SHARDC_PASSES_PLAN_AXISROLES_H

#include "passes/plan/ContextAttention.h"
#include "passes/plan/machine/Machine.h"

#include "llvm/ADT/StringMap.h"

namespace shardc::plan {

enum class ExpertMode { Tensor, Batch };

struct AxisOptions {
  bool sequenceParallel = false;
  ContextMode contextMode = ContextMode::Gather;
};

AxisList matrixAxes(const dist::Mesh &mesh, ExpertMode expertMode);

/// Decides every split of a program, but for what `start` has of it. A step of decoding is split like the
/// prompt, so that both hold the same caches, but for the sequence.
Plan planByRoles(const Graph &graph, const dist::Mesh &mesh, bool isDecode,
                 ExpertMode expertMode, const AxisOptions &options,
                 const Plan *start = nullptr);

struct ExpertChoice {
  ExpertMode mode = ExpertMode::Tensor;
  std::string why; ///< for people; empty where nothing was weighed
};

/// The faster mode on that machine for all programs together: they share weights
/// and caches. `sizes`: of a typical request, by symbol. The batch is split only
/// where its size is a constant or among them.
ExpertChoice chooseExpertMode(llvm::ArrayRef<const Graph *> programs,
                              const Machine &machine, const dist::Mesh &mesh,
                              const llvm::StringMap<int64_t> &sizes,
                              const AxisOptions &options);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_AXISROLES_H
