//===- Explain.h - What a plan costs, and why -----------------------------===//
//
// Everything that a plan communicates, holds and keeps whole, and which
// structures (attention, norms, ...) the program is made of, read off the
// partitioned program (collectives, weights) and the lowered one (memory).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_REPORT_EXPLAIN_H
#define SHARDC_COMPILER_REPORT_EXPLAIN_H

#include "compiler/report/Layers.h"
#include "dialects/dist/Dist.h"
#include "passes/plan/machine/Machine.h"

#include "llvm/ADT/StringMap.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>

namespace shardc::report {

/// Values for symbols, from --dims; sizes that need others stay expressions.
using SymbolValues = llvm::StringMap<int64_t>;

/// Collectives, whole weights, weight bytes per rank and numbers of structures
/// of a module in phase partitioned. With a machine, which links each
/// collective and transfer uses, and how long it takes by them; with layers, how
/// many there are, and in which a collective is. Each profile has
/// the sizes of requests that it runs, and an entry of "totals" (Sums.h).
nlohmann::json explainPlan(mlir::ModuleOp module, const SymbolValues &dims,
                           const plan::Machine *machine = nullptr,
                           const LayerNumbers *layers = nullptr);

/// The value of a size on a rank; nothing where a symbol has none.
std::optional<int64_t> evaluate(dist::DimExpr size, const SymbolValues &dims,
                                const dist::Mesh &mesh, int64_t rank);

/// Adds "activation_bytes" of each rank: the most that is live at once in a
/// module of phase lowered. Null where a size is not known; "missing_dims" has
/// the symbols of the inputs that would have to be given.
void explainMemory(mlir::ModuleOp module, const SymbolValues &dims,
                   nlohmann::json &report);

/// Adds "kv_bytes" of each rank: what the caches of a state take that holds what
/// the request leaves in them (past and its own positions), and
/// "kv_bytes_per_position". Null where a size is not known; 0 without caches.
void explainCaches(mlir::ModuleOp module, const SymbolValues &dims,
                   nlohmann::json &report);

/// Adds "overlap": which collectives of a module of phase lowered run beside
/// products, in how many parts, and the predicted seconds. `mode` and `target`
/// as --overlap and --target say.
void explainOverlap(mlir::ModuleOp module, llvm::StringRef mode,
                    llvm::StringRef target, nlohmann::json &report);
void printOverlap(const nlohmann::json &report, llvm::raw_ostream &os);

/// A line for an entry of "collectives".
void printCollective(const nlohmann::json &entry, llvm::raw_ostream &os);

/// The report for people.
void printExplanation(const nlohmann::json &report, llvm::raw_ostream &os);

} // namespace shardc::report

#endif // SHARDC_COMPILER_REPORT_EXPLAIN_H
