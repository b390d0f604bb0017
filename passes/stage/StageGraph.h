//===- StageGraph.h - What may be cut, and what is computed anywhere ------===//
//
// Three kinds of op:
//
//   cheap     depends on inputs and vectors alone (masks, positions), or on
//             weights alone: computed in every stage that needs it, never sent
//   fixed     everything else: belongs to one stage; its results are sent to
//             the later stages that use them
//   a read of sizes is cheap, but may need the result of a fixed op sent; what
//   a branch or loop leaves behind stays in its stage
//
// Fixed ops keep their order and are cut into pieces, one product with a matrix
// in each. Between two products the cut is where the fewest bytes cross: behind
// the residual's addition, before the norm makes a second value of it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_STAGE_STAGEGRAPH_H
#define SHARDC_PASSES_STAGE_STAGEGRAPH_H

#include "dialects/onnx/Onnx.h"
#include "passes/plan/CutSearch.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace shardc::stage {

class StageGraph {
public:
  explicit StageGraph(mlir::func::FuncOp function);

  /// In order; a piece is [firstOps[p], firstOps[p + 1]).
  llvm::SmallVector<mlir::Operation *> fixedOps;
  std::vector<plan::Piece> pieces;
  std::vector<unsigned> firstOps; ///< by piece, and the end

  bool isFixed(mlir::Operation *op) const { return numbers.contains(op); }
  unsigned numberOf(mlir::Operation *op) const { return numbers.lookup(op); }
  /// Whether some operand comes from a matrix of the model.
  bool readsMatrix(mlir::Operation *op) const;
  /// Whether no sum is incomplete in front of that fixed op, which is not the
  /// first one.
  bool mayCutBefore(unsigned number) const;
  /// The matrices of the model that a piece uses, as what they are in its
  /// files.
  llvm::SmallVector<mlir::Attribute, 2> matrices(size_t piece) const;
  /// What must be there before `op`: what makes its operands, and the reads of
  /// the sizes that its types are written in.
  llvm::SmallVector<mlir::Operation *, 4> needs(mlir::Operation *op) const;

private:
  void classify(mlir::func::FuncOp function);
  void findReads(mlir::func::FuncOp function);
  void addPieces(const llvm::DenseSet<mlir::Value> &caches);
  std::vector<double>
  crossings(const llvm::DenseSet<mlir::Value> &caches) const;
  /// Fixed ops that `op`, and reads of sizes in front of it, need.
  llvm::SmallVector<mlir::Operation *> fixedNeeds(mlir::Operation *op) const;
  /// Weights and constants that a piece reads, directly or through what is
  /// computed of them alone.
  llvm::SmallVector<mlir::Operation *> sourcesOf(size_t piece) const;

  llvm::DenseMap<mlir::Operation *, unsigned> numbers; ///< of fixed ops
  std::vector<double> crossing; ///< bytes behind each; infinite within a sum
  llvm::DenseSet<mlir::Operation *> dependsOnInputs;
  llvm::DenseSet<mlir::Operation *> holdsMatrix; ///< ops of weights alone
  llvm::StringMap<mlir::Operation *> reads;      ///< what binds a symbol
};

} // namespace shardc::stage

#endif // SHARDC_PASSES_STAGE_STAGEGRAPH_H
