//===- Sizes.h - Numbers in the place of symbolic sizes -------------------===//
//
// An evaluation needs numbers for symbols, and small ones for sizes that a
// model fixes: nothing in attention depends on heads of 128 elements.
//
//   seq = 3, past = 2, 128 -> 8     [seq, past + seq, 128 * seq] = [3, 5, 24]
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_EVALUATE_SIZES_H
#define SHARDC_DIALECTS_ONNX_EVALUATE_SIZES_H

#include "dialects/dist/algebra/DimExpr.h"
#include "dialects/onnx/evaluate/Tensor.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

namespace shardc::onnx::evaluate {

struct Sizes {
  llvm::StringMap<int64_t> symbols;
  llvm::DenseMap<int64_t, int64_t> numbers; ///< in the place of larger ones

  /// What stands for a number of the model, of either sign.
  int64_t of(int64_t number) const;
  /// Nothing where a symbol has no value, or 64 bits do not hold it.
  std::optional<int64_t> of(dist::DimExpr expr) const;
  /// The same of all; each is a size, hence at least 0.
  std::optional<Shape> of(llvm::ArrayRef<dist::DimExpr> dims) const;
  /// Gives a value to dims that are symbols without one; false if another dim
  /// does not have the size that is given.
  bool bind(llvm::ArrayRef<dist::DimExpr> dims, llvm::ArrayRef<int64_t> shape);
};

/// Without its sign; the largest number for what has none without it.
int64_t magnitudeOf(int64_t number);

/// Calls `visit` with each number in the expression, without its sign.
void forEachNumber(dist::DimExpr expr, llvm::function_ref<void(int64_t)> visit);

} // namespace shardc::onnx::evaluate

#endif // SHARDC_DIALECTS_ONNX_EVALUATE_SIZES_H
