//===- Annotations.h - Shardings that a model's file asks for -------------===//
//
// Of the operands and results of its nodes, as JSON:
//
//   [{"node": "up", "outputs": ["y"], "specs": [
//      {"tensor": "x", "dims": []},
//      {"tensor": "w", "dims": [{"dim": 1, "parts": [
//         {"size": "12", "axes": ["tp"]}, {"size": "64", "axes": []}]}]}]}]
//
// A tensor is whole but for the dims that are listed; one that is not listed is
// held as it comes. What splits an operand of an op splits the op, and what splits
// a result does, unless that is only how the result is dealt out afterwards: a sum
// over "tp" may come out split over "tp". The search leaves all of it as it is.
// Factors of matrices of which an op says nothing go as other ops say, unless one
// of them holds the factor whole; and a step of decoding splits no others.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_ANNOTATIONS_H
#define SHARDC_PASSES_PLAN_ANNOTATIONS_H

#include "passes/plan/PlanFile.h"

namespace shardc::plan {

/// By op of a graph: what the file calls its operands and results; "" where it
/// has no name for them.
struct OpTensors {
  std::vector<llvm::SmallVector<std::string, 3>> operands, results;
};

/// Puts them into a plan of the graph, but where pins decided already. "" or what
/// is wrong, with the node.
std::string applyAnnotations(const nlohmann::json &entries, const Graph &graph,
                             const OpNames &names, const OpTensors &tensors,
                             const dist::Mesh &mesh, bool isDecode, Plan &plan);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_ANNOTATIONS_H
