//===- ExplainNode.h - Why a node is split as it is -----------------------===//
//
//   /layers.3/mlp/down (MatMul)
//     operand 1, dim 0: its factor of 28672 is split over tp, with 7 others:
//     /layers.3/mlp/gate, ...
//     the best alternative, [{}, {}, {}] instead of [{}, {}, {}] partial ...,
//     takes 31.2 us more a run: ...
//     all_reduce over tp, 8.0 KiB ...: sum of the parts of /layers.3/mlp/down
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_REPORT_EXPLAINNODE_H
#define SHARDC_COMPILER_REPORT_EXPLAINNODE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json_fwd.hpp>

namespace shardc::report {

/// Of a report with a "plan": what splits a node or weight, what that goes with,
/// and the collectives that it causes; with "alternatives" (Compile.h), what the
/// best other choice would cost, or with "no_alternatives" why that is not
/// known. "" or the nearest names, where nothing of
/// that name is in it.
std::string printNode(const nlohmann::json &report, llvm::StringRef node,
                      llvm::raw_ostream &os);

} // namespace shardc::report

#endif // SHARDC_COMPILER_REPORT_EXPLAINNODE_H
