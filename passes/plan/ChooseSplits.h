//===- ChooseSplits.h - Splits of weights for requests of known sizes -----===//
//
// Prompts and steps have the same weights, so that one choice is for both: what is
// asked for again and again decides it, and nothing may slow the others down. The
// search (SplitSearch.h) sees equal layers once; what it chooses for a factor of a
// weight holds for that factor in all weights that this one stands for, and in
// other programs of the model:
//
//   "layers.0.mlp.up", dim 1, its first factor, over "tp":(4)4: of "up" in each
//   layer
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_CHOOSESPLITS_H
#define SHARDC_PASSES_PLAN_CHOOSESPLITS_H

#include "passes/plan/AxisRoles.h"
#include "passes/plan/PlanFile.h"
#include "passes/plan/cost/Kernels.h"
#include "passes/plan/cost/Sizes.h"

namespace shardc::plan {

/// What runs for requests of some sizes; `sizes` of one micro-batch of a replica.
struct SizedProgram {
  const Graph &graph;
  const Kernels &kernels;
  const OpNames &names;
  bool isDecode;
  Sizes sizes;
};

/// Where it runs, and how it is split else.
struct SplitContext {
  const Machine &machine;
  const dist::Mesh &mesh;  ///< of all ranks
  const dist::Mesh &stage; ///< of those that split values
  ExpertMode experts;
  AxisOptions options;
};

struct ChosenSplits {
  /// Factor number `position` of dim `dim` of a weight, and what splits it.
  struct Factor {
    std::string weight;
    size_t dim = 0, position = 0;
    AxisList axes;
  };
  std::vector<Factor> factors; ///< none: the search without sizes is as good
  double share = 1;            ///< of the seconds of plans without these
  unsigned numTried = 0;       ///< plans
  bool isExact = false;        ///< none of all is better
  double leastShare = 1;       ///< none of all has less

  /// "0.61 of the predicted time of those without, the best of 81 plans", or "the
  /// best found in 250 plans, none has less than 0.40"
  std::string why() const;

  /// Puts them into the start of a plan. `standsFor` gives the name that a weight
  /// has here, "" for one that has none.
  void
  apply(const Graph &graph, const OpNames &names, Plan &start,
        llvm::function_ref<llvm::StringRef(llvm::StringRef)> standsFor) const;
};

/// For the first program; of the others no one gets slower.
ChosenSplits chooseSplits(llvm::ArrayRef<SizedProgram> programs,
                          const SplitContext &context);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_CHOOSESPLITS_H
