//===- ChooseSplits.h - Splits of weights that a predicted time decides ---===//
//
// Of a request whose sizes are known. The search (plan/SplitSearch.h) sees equal
// layers once; what it chooses for a factor of a weight holds for that factor in
// all weights that this one stands for, and in other functions of the model:
//
//   "layers.0.mlp.up", dim 1, its first factor, over "tp":(4)4: of "up" in each
//   layer
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_SHARD_CHOOSESPLITS_H
#define SHARDC_PASSES_SHARD_CHOOSESPLITS_H

#include "passes/plan/AxisRoles.h"
#include "passes/shard/FunctionGraph.h"
#include "passes/shard/PriceAlternatives.h"

namespace shardc::shard {

struct ChosenSplits {
  /// Factor number `position` of dim `dim` of a weight, and what splits it.
  struct Factor {
    std::string weight;
    size_t dim = 0, position = 0;
    plan::AxisList axes;
  };
  std::vector<Factor> factors; ///< none: the search without sizes is as good
  /// By weight: the one that stands for it.
  llvm::StringMap<std::string> standsFor;
  std::string why; ///< for people

  /// Puts them into the start of a plan of a function's graph.
  void apply(const FunctionGraph &source, plan::Plan &start) const;
};

ChosenSplits chooseSplits(mlir::func::FuncOp function,
                          const PriceContext &context, plan::ExpertMode experts,
                          const plan::AxisOptions &options);

} // namespace shardc::shard

#endif // SHARDC_PASSES_SHARD_CHOOSESPLITS_H
