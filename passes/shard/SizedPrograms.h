//===- SizedPrograms.h - What runs for a typical request ------------------===//
#ifndef SHARDC_PASSES_SHARD_SIZEDPROGRAMS_H
#define SHARDC_PASSES_SHARD_SIZEDPROGRAMS_H

#include "passes/plan/ChooseSplits.h"
#include "passes/shard/FunctionGraph.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace shardc::shard {

/// Of a module of phase imported, with sizes by the model's symbols, of which the
/// batch is cut into so many parts. Equal layers are there once.
class SizedPrograms {
public:
  SizedPrograms(mlir::ModuleOp imported,
                const llvm::StringMap<int64_t> &typical, int64_t batchParts);

  /// Steps, and the prompts before them; prompts alone where nothing comes before
  /// a step.
  llvm::ArrayRef<plan::SizedProgram> programs() const { return made; }
  /// The function of the first program.
  mlir::func::FuncOp main() const { return function; }
  /// Of any weight of the first program: the one that stands for it there; ""
  /// for others.
  llvm::StringRef standsFor(llvm::StringRef weight) const {
    return representatives.lookup(weight);
  }

private:
  struct Owned {
    explicit Owned(mlir::func::FuncOp function);

    EqualLayers layers;
    FunctionGraph source;
    plan::Kernels kernels;
    plan::OpNames names;
  };
  void add(mlir::func::FuncOp function, llvm::StringMap<int64_t> sizes);

  mlir::func::FuncOp function;
  std::vector<std::unique_ptr<Owned>> owned;
  std::vector<plan::SizedProgram> made;
  llvm::StringMap<llvm::StringRef> representatives;
};

} // namespace shardc::shard

#endif // SHARDC_PASSES_SHARD_SIZEDPROGRAMS_H
