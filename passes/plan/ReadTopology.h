//===- ReadTopology.h - Topology files ------------------------------------===//
//
//   {"nodes": 2, "devices_per_node": 4,
//    "inside_node":   {"gigabytes_per_second": 300, "microseconds": 4},
//    "between_nodes": {"gigabytes_per_second": 25,  "microseconds": 12}}
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_READTOPOLOGY_H
#define SHARDC_PASSES_PLAN_READTOPOLOGY_H

#include "dialects/dist/algebra/Topology.h"

namespace shardc::plan {

/// Reads a topology file's text; "" or what is wrong with it, and the remedy.
std::string parseTopology(llvm::StringRef text, dist::Topology &topology);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_READTOPOLOGY_H
