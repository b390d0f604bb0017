//===- EqualLayers.h - Layers that one of them can stand for --------------===//
//
// Exporters write a model's layers one after the other, op by op alike but for
// their weights and caches. To weigh plans it is enough to look at some of them:
// the first two, and the last one, which what follows uses.
//
// A layer begins where the fewest elements cross: no op between them is split in
// two with what it shares a factor with.
//
//   ops 12 to 38 are those of layer 1, 39 to 65 of layer 2, ..., of 126 layers
//   layers 3 to 125 are not looked at: layer 2 stands for 124
//
// Op i + P of the next layer is equal to op i if it has the same name, attributes
// and types, and each of its operands is made P ops behind the one of op i, or by
// the same op, or is another weight or input of the same type.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_SHARD_EQUALLAYERS_H
#define SHARDC_PASSES_SHARD_EQUALLAYERS_H

#include "dialects/onnx/Onnx.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::shard {

class EqualLayers {
public:
  explicit EqualLayers(mlir::func::FuncOp function);

  /// The op itself, or the one that stands for it.
  mlir::Operation *representative(mlir::Operation *op) const;
  /// How many ops it stands for, itself included; of a representative.
  double count(mlir::Operation *op) const;
  /// Which of the model's layers an op is in, from 0 on: those that are equal, what
  /// stands between two rows of them, and the one before, which takes its input
  /// from elsewhere. Nothing for what comes before and behind.
  std::optional<unsigned> layerOf(mlir::Operation *op) const;

private:
  struct Run {
    size_t period = 0, length = 0; ///< so many ops are equal to those behind
  };

  bool areEqual(size_t i, size_t j) const;
  bool areEqual(mlir::Value lhs, mlir::Value rhs, size_t distance) const;
  Run longestRun(size_t start) const;
  /// Where in a period the fewest elements cross, and layers begin.
  size_t border(size_t start, size_t period) const;
  /// Made from `first` on, and used from `end` on.
  double crossing(size_t first, size_t end) const;
  /// At most a period before `start`: ops of the signatures of those behind.
  size_t firstOfSignatures(size_t start, size_t period) const;
  void fold(size_t start, const Run &run);
  void standFor(mlir::Operation *op, mlir::Operation *kept);
  void numberLayers(llvm::ArrayRef<std::pair<size_t, Run>> rows);

  /// Those that compute something, in order; weights and constants have none.
  std::vector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, size_t> numbers;
  std::vector<llvm::hash_code> signatures;
  std::vector<size_t> nextAlike; ///< by op: the next of its signature
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> representatives;
  llvm::DenseMap<mlir::Operation *, double> counts;
  std::vector<std::optional<unsigned>> layers; ///< by op
};

} // namespace shardc::shard

#endif // SHARDC_PASSES_SHARD_EQUALLAYERS_H
