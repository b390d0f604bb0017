//===- RankSizes.h - Sizes and parts of one rank --------------------------===//
//
// A partitioned program is one for all ranks: sizes are expressions over mesh
// coordinates. With those of a rank put in they are its own:
//
//   (seq * (@tp + 1)) floordiv 2 - ...   rank 1 of tp = 2: seq - seq floordiv 2
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_RANKS_RANKSIZES_H
#define SHARDC_COMPILER_RANKS_RANKSIZES_H

#include "dialects/dist/Dist.h"

namespace shardc::ranks {

using Dims = llvm::SmallVector<dist::DimExpr, 4>;

/// A rank of the mesh of one stage.
struct StageRank {
  const dist::Mesh &mesh; ///< of the stage
  int64_t rank = 0;

  dist::DimExpr size(dist::DimExpr expression) const;
  Dims sizes(llvm::ArrayRef<dist::DimExpr> expressions) const;
  /// That it holds of a value of the program.
  Dims localDims(mlir::Type type) const;
  StageRank other(int64_t rank) const { return {mesh, rank}; }
};

/// Ranks that differ from this one in `axes` only, by way over these axes.
llvm::SmallVector<int64_t> groupOf(const StageRank &rank,
                                   llvm::ArrayRef<dist::AxisRef> axes);

} // namespace shardc::ranks

#endif // SHARDC_COMPILER_RANKS_RANKSIZES_H
