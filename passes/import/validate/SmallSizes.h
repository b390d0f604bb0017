//===- SmallSizes.h - Sizes to try a region on ----------------------------===//
//
// Symbols get small numbers that satisfy the model's guards and all sizes in
// the region: 0 and 1 among them, and different ones for different symbols.
// Numbers of the model become smaller ones, alike wherever they stand, with the
// sums, products and divisors that they have among each other:
//
//   64 128 8192   ->   4 8 32        (64 + 64 = 128, 64 * 128 = 8192)
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_VALIDATE_SMALLSIZES_H
#define SHARDC_PASSES_IMPORT_VALIDATE_SMALLSIZES_H

#include "dialects/onnx/evaluate/Sizes.h"
#include "passes/import/validate/Region.h"
#include "passes/import/validate/SizeGuards.h"

namespace shardc::import {

using Numbers = llvm::DenseMap<int64_t, int64_t>;

/// Which numbers become smaller, and how.
struct Shrinkage {
  int64_t pinned;     ///< the largest that stays
  bool keepsProducts; ///< or sums alone, where not all can be kept: that a
                      ///< window of 4096 is 64 * 64 means nothing
};

/// Nothing where there are no such numbers.
std::optional<Numbers> shrunkNumbers(llvm::ArrayRef<int64_t> numbers,
                                     Shrinkage shrinkage);

/// What sizes of a region must satisfy.
struct SizeFacts {
  llvm::SmallVector<std::string> symbols; ///< but for those that data gives
  llvm::SmallVector<dist::DimExpr> sizes; ///< at least 0
  llvm::SmallVector<int64_t> numbers;     ///< ascending
  int64_t farthest = 0; ///< of the numbers that places are compared with
  llvm::SmallVector<SizeGuard> guards;
};

SizeFacts sizeFactsOf(const Region &region, const OpOrder &order,
                      const SizeGuards &guards);

/// The first of all is the most telling one.
llvm::SmallVector<onnx::evaluate::Sizes> smallSizes(const SizeFacts &facts,
                                                    const Numbers &numbers);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_VALIDATE_SMALLSIZES_H
