//===- MatrixStages.h - Every profile is cut at the same matrices ---------===//
//
// A rank runs its stage of every profile with one set of weights and caches, so
// a matrix has to be in the same stage of each. The first profile is cut by
// cost; the others where their matrices say:
//
//   first    wq wk | up down      stages 0 0 1 1
//   other    wq    | up down      stages 0   1 1    (keys come from a cache)
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_STAGE_MATRIXSTAGES_H
#define SHARDC_PASSES_STAGE_MATRIXSTAGES_H

#include "passes/stage/StageGraph.h"

#include "llvm/ADT/MapVector.h"

namespace shardc::stage {

class MatrixStages {
public:
  bool isEmpty() const { return stages.empty(); }
  /// Notes where a profile with these cuts has its matrices.
  void record(const StageGraph &graph, const std::vector<size_t> &cuts);
  /// Cuts of another profile, or nothing where its matrices come in another
  /// order or leave a stage empty.
  std::optional<std::vector<size_t>> cuts(const StageGraph &graph,
                                          size_t numStages) const;

private:
  /// By matrix: the stage of each piece that multiplies by it, in order.
  llvm::DenseMap<mlir::Attribute, llvm::SmallVector<unsigned, 1>> stages;
};

} // namespace shardc::stage

#endif // SHARDC_PASSES_STAGE_MATRIXSTAGES_H
