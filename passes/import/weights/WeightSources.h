//===- WeightSources.h - Matrices of products as files have them ----------===//
//
// A matrix is one weight. Those of experts are one weight, or were put together of
// a weight for each expert, or two (gate and up):
//
//   Concat {axis = 0} (Reshape (Concat {axis = 1} g0, u0), Reshape (Concat g1, u1))
//   ->  [[g0, u0], [g1, u1]]
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_WEIGHTS_WEIGHTSOURCES_H
#define SHARDC_PASSES_IMPORT_WEIGHTS_WEIGHTSOURCES_H

#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Source.h"

#include <optional>

namespace shardc::import {

/// Dims that exchange the last two of so many.
llvm::SmallVector<int64_t> matrixTransposition(int64_t rank);

/// A matrix, or one for each expert.
struct WeightSource {
  mutable onnx::WeightOp weight; ///< a handle, whose accessors are not const
  bool isTransposed = false;     ///< [n, k], not [k, n]

  static std::optional<WeightSource> of(mlir::Value matrix);

  mlir::RankedTensorType type() const {
    return mlir::cast<mlir::RankedTensorType>(weight.getType());
  }
  int64_t rows() const { ///< n
    return type().getShape().end()[isTransposed ? -2 : -1];
  }
  int64_t columns() const { ///< k
    return type().getShape().end()[isTransposed ? -1 : -2];
  }
};

/// Matrices of experts that were put together.
struct ExpertStack {
  /// Side by side along n, of each expert; none: it is of zeros.
  using Parts = llvm::SmallVector<WeightSource, 2>;
  llvm::SmallVector<Parts> experts;

  static std::optional<ExpertStack> of(mlir::Value matrices);

  const WeightSource &first() const;
};

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_WEIGHTS_WEIGHTSOURCES_H
