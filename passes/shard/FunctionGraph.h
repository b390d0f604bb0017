//===- FunctionGraph.h - The graph of a function --------------------------===//
#ifndef SHARDC_PASSES_SHARD_FUNCTIONGRAPH_H
#define SHARDC_PASSES_SHARD_FUNCTIONGRAPH_H

#include "dialects/onnx/Onnx.h"
#include "passes/plan/PlanFile.h"
#include "passes/shard/EqualLayers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::shard {

/// What planning must know of a function, and where that is in the IR. Ops
/// without a rule are left out, with a warning at each.
struct FunctionGraph {
  /// `nominal` gives a value for each symbol. Of equal layers, if they are given,
  /// the graph has those that stand for others only.
  FunctionGraph(mlir::func::FuncOp function,
                std::function<int64_t(llvm::StringRef)> nominal,
                const EqualLayers *layers = nullptr);

  /// Of its ops: of weights their own, of others that of their node.
  plan::OpNames names() const;

  plan::Graph graph;
  std::vector<mlir::Operation *> ops; ///< by number in the graph
  std::vector<mlir::Value> values;

private:
  void addOp(onnx::OnnxOp op, const EqualLayers *layers);
  unsigned numberOf(mlir::Value value);

  llvm::DenseMap<mlir::Value, unsigned> numbers;
};

} // namespace shardc::shard

#endif // SHARDC_PASSES_SHARD_FUNCTIONGRAPH_H
