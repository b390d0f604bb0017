//===- PlanFile.h - A plan as JSON ----------------------------------------===//
//
// The ops that something splits, each by the name of its node; of several ops
// that a node has become "index" says which. A factor is named by the first dim
// that has it:
//
//   {"node": "/layers.0/up", "op": "MatMul",
//    "splits": [{"of": "operand 1", "dim": 1, "factor": 0, "size": "28672",
//                "region": 17, "axes": ["tp"]}]}
//
// Ops of one "region" have the same factor, which is split in all of them.
// "carries" are axes over which sums stay in parts, "in_turn" those over which
// the keys of an attention come. A sub-axis is "tp:(4)2", as in shardings. What is
// not listed runs whole. Where stages are cut is beside it (stage/PlannedCuts.h).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_PLANFILE_H
#define SHARDC_PASSES_PLAN_PLANFILE_H

#include "passes/plan/Plan.h"

#include <nlohmann/json_fwd.hpp>

namespace shardc::plan {

/// By op of a graph: the names of its node and its operator.
struct OpNames {
  std::vector<std::string> nodes, operators;
};

nlohmann::json writePlan(const Graph &graph, const Plan &plan,
                         const OpNames &names, const dist::Mesh &mesh);

/// "" or what does not fit the graph or the mesh, with the node that is meant.
/// `plan` is one of the graph.
std::string readPlan(const nlohmann::json &entries, const Graph &graph,
                     const OpNames &names, const dist::Mesh &mesh, Plan &plan);

/// For messages: "it can be split along dim 0 of result 0 (batch), dim 1 of operand
/// 1 (512)".
std::string howToSplit(const Graph &graph, unsigned op);

/// The name that is most like it, for messages; "" where none is.
std::string nearestNode(const OpNames &names, llvm::StringRef name);

/// "tp" or "tp:(4)2" of that mesh; nothing, and what is wrong, else.
std::optional<dist::AxisRef>
parseAxis(llvm::StringRef text, const dist::Mesh &mesh, std::string &problem);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_PLANFILE_H
