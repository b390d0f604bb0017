//===- PlaceDims.h - Which dims count the places of static caches ---------===//
//
// A cache with room for 64 positions has a dim of 64, as other things may that
// have nothing to do with it. Which dims are this one follows from where they
// come from: ops say by their sharding rules which dims of operands and results
// are one.
//
//   present [b, 8, 64, 64]          dim 2
//   Transpose to [b, 8, 64, 64]     dim 3
//   Attention with mask [1, 1, s, 64]    dim 3 of the mask, and so on back to
//   Range -> [64]                        dim 0
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_ROWS_PLACEDIMS_H
#define SHARDC_PASSES_IMPORT_ROWS_PLACEDIMS_H

#include "passes/import/Matching.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/IntEqClasses.h"

namespace shardc::import {

class PlaceDims {
public:
  /// `apart` are ops whose operands have dims of their own.
  PlaceDims(mlir::func::FuncOp function,
            const llvm::DenseSet<mlir::Operation *> &apart);

  /// To be called for one dim at least, before all below.
  void add(mlir::Value value, int64_t dim);
  void close();

  /// Of values that there were from the start.
  bool isPlace(mlir::Value value, int64_t dim) const;
  bool hasPlaces(mlir::Value value) const;

  /// An op of which it is not clear what it computes where there are fewer
  /// places, and why; null if there is none.
  struct Problem {
    mlir::Operation *op = nullptr;
    llvm::StringRef why;
  };
  Problem findProblem() const;
  /// Whether an attention's keys are the places, whatever they became.
  bool attends(mlir::Operation *op) const { return attentions.contains(op); }
  /// Whether a result is one number for all places.
  bool joinsPlaces(mlir::Operation *op) const { return joining.contains(op); }

private:
  unsigned numberOf(mlir::Value value, int64_t dim) const;
  /// An op whose dims are joined by its rule.
  struct Ruled {
    mlir::Operation *op;
    onnx::ShardingRule rule;
    unsigned first; ///< number of factor 0, behind those of dims
  };
  void joinFactors(const Ruled &of);
  bool isOfPlaces(const Ruled &of, unsigned factor) const;
  Problem problemOf(const Ruled &of) const;

  mutable mlir::func::FuncOp function;
  llvm::DenseMap<mlir::Value, unsigned> first; ///< number of dim 0
  llvm::IntEqClasses classes;
  std::vector<Ruled> ruled; ///< in order
  llvm::SmallVector<unsigned> roots;
  llvm::DenseSet<unsigned> ofPlaces;
  llvm::DenseSet<mlir::Operation *> attentions, joining;
};

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ROWS_PLACEDIMS_H
