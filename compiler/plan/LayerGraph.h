//===- LayerGraph.h - A layer of the model under a plan -------------------===//
//
// The ops of a typical layer as JSON, for reports: which of them feed which, how
// what they make is split, and what they are predicted to take.
//
//   [{"node": "/layers.1/up", "op": "MatMul", "inputs": [3], "sharding":
//     "[{}, {}, {tp}]", "split": true, "seconds": 2e-5, "waits": 0}, ...]
//
// "inputs" are numbers in the list; what comes from elsewhere is left out.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_PLAN_LAYERGRAPH_H
#define SHARDC_COMPILER_PLAN_LAYERGRAPH_H

#include "passes/plan/cost/OpCost.h"
#include "passes/shard/FunctionGraph.h"

#include <nlohmann/json_fwd.hpp>

namespace shardc {

/// Of a model without layers all of it, if that is not too much to draw.
nlohmann::json layerGraph(const shard::FunctionGraph &source,
                          const plan::Plan &plan,
                          const std::vector<plan::Seconds> &seconds);

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_LAYERGRAPH_H
