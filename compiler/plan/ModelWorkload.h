//===- ModelWorkload.h - What planning must know of an imported model -----===//
#ifndef SHARDC_COMPILER_PLAN_MODELWORKLOAD_H
#define SHARDC_COMPILER_PLAN_MODELWORKLOAD_H

#include "compiler/RequestSizes.h"
#include "passes/plan/degrees/Workload.h"
#include "passes/shard/FunctionGraph.h"

#include <map>
#include <memory>

namespace shardc {

/// A module of phase imported, with a function for steps of decoding where its
/// caches allow one, or with one for steps of rows, whose keys have no parts yet: of
/// that one there is a program for each number of parts that degrees ask for. Owns
/// what the workloads point to.
class ModelWorkload {
public:
  /// At least one kind, with sizes by the model's symbols; of steps of rows "batch",
  /// "seq" and "past" are among them. The module outlives the object.
  ModelWorkload(mlir::ModuleOp imported, llvm::ArrayRef<RequestKind> kinds);
  ModelWorkload(const ModelWorkload &) = delete;

  /// By kind.
  llvm::ArrayRef<plan::Workload> workloads() const { return made; }
  const shard::FunctionGraph &prompt() const { return *owned.front()->source; }
  /// By kind, the sizes that are planned for, by "batch", "seq", "past" and the
  /// model's other symbols.
  std::vector<std::map<std::string, int64_t>> dims;

private:
  struct Owned {
    mlir::OwningOpRef<mlir::ModuleOp> module; ///< null of the given one
    std::unique_ptr<shard::FunctionGraph> source;
    plan::Program program;
  };
  const plan::Program *add(mlir::func::FuncOp function,
                           mlir::OwningOpRef<mlir::ModuleOp> module = {});
  void chooseSizes(mlir::ModuleOp imported,
                   const llvm::StringMap<int64_t> &given, plan::Workload &kind);
  void chooseRows(const llvm::StringMap<int64_t> &given, plan::Workload &kind);
  /// Of a step of rows.
  const plan::Program &programFor(mlir::ModuleOp imported,
                                  const plan::Degrees &degrees);

  std::vector<plan::Workload> made;
  std::vector<std::unique_ptr<Owned>> owned;
  /// By how many parts the keys of each attention have, and by ranks that share out
  /// heads and positions.
  std::map<std::vector<int64_t>, const plan::Program *> byParts;
  std::map<std::pair<int64_t, int64_t>, const plan::Program *> byRanks;
};

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_MODELWORKLOAD_H
