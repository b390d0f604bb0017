//===- PriceAlternatives.h - What other shardings of a node would cost ----===//
#ifndef SHARDC_PASSES_SHARD_PRICEALTERNATIVES_H
#define SHARDC_PASSES_SHARD_PRICEALTERNATIVES_H

#include "passes/plan/PlanFile.h"
#include "passes/plan/cost/OpCost.h"
#include "passes/plan/cost/Sizes.h"
#include "passes/plan/machine/Machine.h"

#include <nlohmann/json.hpp>

namespace shardc::shard {

/// For whom, and at which sizes, the alternatives are priced.
struct PriceContext {
  const plan::Machine &machine;
  const dist::Mesh &mesh;  ///< of all ranks
  const dist::Mesh &stage; ///< of those that split values
  plan::Sizes sizes;
};

/// Of a run under that plan: each op once.
plan::Seconds secondsOf(const plan::Graph &graph, const plan::Plan &plan,
                        const PriceContext &context);

/// For each op of that node, or the weight of that name, the best alternative
/// (plan/Alternatives.h), as
///
///   {"op": "MatMul", "sharding": "[{}, {\"tp\"=2}]", "seconds": {...},
///    "instead": {"sharding": "[{\"tp\"=2}, {}]", "seconds": {...}}}
///
/// `seconds` of a run: "compute", "read", "communication", "total". Ops without
/// an alternative are left out.
nlohmann::json
priceAlternatives(const plan::Graph &graph, const plan::OpNames &names,
                  llvm::StringRef node, const plan::Plan &plan,
                  const PriceContext &context,
                  llvm::function_ref<plan::Plan(const plan::Plan &)> search);

} // namespace shardc::shard

#endif // SHARDC_PASSES_SHARD_PRICEALTERNATIVES_H
