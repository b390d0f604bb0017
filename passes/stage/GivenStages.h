//===- GivenStages.h - Stages that a model's file asks for ----------------===//
//
// Some nodes, or a plan that was made of them, say which stage they are in. Everything else is where its operands
// are, so as early as it can be:
//
//   a (stage 0) -> b -> c (stage 1) -> d      a, b | c, d
//
// Ops are put in the order of their stages. A node that says an earlier stage than
// something it needs is an error.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_STAGE_GIVENSTAGES_H
#define SHARDC_PASSES_STAGE_GIVENSTAGES_H

#include "passes/stage/StageGraph.h"

#include "llvm/ADT/StringMap.h"

#include <nlohmann/json.hpp>

namespace shardc::stage {

class GivenStages {
public:
  /// "" or what is wrong with the JSON of annotations.
  std::string read(llvm::StringRef text);
  /// Of a plan: {NODE: STAGE}, as written.
  void readPlan(const nlohmann::json &planned, llvm::StringRef planName);
  nlohmann::json write() const;

  bool isEmpty() const { return stages.empty(); }

  /// Sorts the ops of the function. An error at a node that is too early.
  llvm::LogicalResult arrange(mlir::func::FuncOp function) const;

  /// The first fixed op of each stage, of a graph of a function that is arranged;
  /// an error where a stage is empty, or begins within a sum.
  llvm::LogicalResult cut(mlir::func::FuncOp function, const StageGraph &graph,
                          size_t numStages,
                          llvm::SmallVectorImpl<unsigned> &firstOps) const;

private:
  /// For messages: who says it, and how to do without.
  std::string origin = "the model's annotations",
              remedy = ", or use --annotations none";
  /// That the op says; nothing for most.
  std::optional<int64_t> saidBy(mlir::Operation *op) const;
  llvm::DenseMap<mlir::Operation *, int64_t>
  stagesOf(mlir::func::FuncOp function, mlir::Operation *&early,
           mlir::Operation *&needed) const;

  llvm::StringMap<int64_t> stages; ///< by node
};

} // namespace shardc::stage

#endif // SHARDC_PASSES_STAGE_GIVENSTAGES_H
