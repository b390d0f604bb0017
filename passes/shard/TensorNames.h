//===- TensorNames.h - What the model's file calls a value ----------------===//
//
// Ops are at locations named after their nodes; values have no names. Where one
// op has become of a node its results are the node's outputs; of several ops,
// the one value that others use is the node's one output:
//
//   node LayerNorm_3 -> "h"       %0 = onnx.ReduceMean  loc("LayerNorm_3")
//                                 %1 = onnx.Sub ...     loc("LayerNorm_3")
//                                 %2 = onnx.Mul ...     loc("LayerNorm_3"): "h"
//
// What is inside of an op that a recovery made has no value, so no name here.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_SHARD_TENSORNAMES_H
#define SHARDC_PASSES_SHARD_TENSORNAMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace shardc::shard {

/// By node: the names of its outputs; "" for those it leaves out.
using OutputsOfNode = llvm::StringMap<std::vector<std::string>>;

class TensorNames {
public:
  /// Nodes that share a name must be left out of `outputs`.
  TensorNames(mlir::func::FuncOp function, const OutputsOfNode &outputs);

  /// "" where it has none. Of a value that is held in another way, that of what
  /// it was made of.
  llvm::StringRef nameOf(mlir::Value value) const;

private:
  void nameResults(llvm::StringRef node, llvm::ArrayRef<mlir::Operation *> ops,
                   llvm::ArrayRef<std::string> outputs);

  llvm::DenseMap<mlir::Value, std::string> names;
};

} // namespace shardc::shard

#endif // SHARDC_PASSES_SHARD_TENSORNAMES_H
