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
/// caches allow one. Owns what the workloads point to.
class ModelWorkload {
public:
  /// At least one kind, with sizes by the model's symbols.
  ModelWorkload(mlir::ModuleOp imported, llvm::ArrayRef<RequestKind> kinds);

  /// By kind.
  llvm::ArrayRef<plan::Workload> workloads() const { return made; }
  const shard::FunctionGraph &prompt() const { return *owned.front()->source; }
  /// By kind, the sizes that are planned for, by "batch", "seq", "past" and the
  /// model's other symbols.
  std::vector<std::map<std::string, int64_t>> dims;

private:
  struct Owned {
    std::unique_ptr<shard::FunctionGraph> source;
    plan::Program program;
  };
  const plan::Program *add(mlir::func::FuncOp function);
  void chooseSizes(mlir::ModuleOp imported,
                   const llvm::StringMap<int64_t> &given, plan::Workload &kind);

  std::vector<plan::Workload> made;
  std::vector<std::unique_ptr<Owned>> owned;
};

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_MODELWORKLOAD_H
