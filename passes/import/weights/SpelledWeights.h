//===- SpelledWeights.h - (integers - zero point) * scale, as ops ---------===//
#ifndef SHARDC_PASSES_IMPORT_WEIGHTS_SPELLEDWEIGHTS_H
#define SHARDC_PASSES_IMPORT_WEIGHTS_SPELLEDWEIGHTS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace shardc::import {

/// What DequantizeLinear would say of a value that follows from weights alone:
/// scale and zero point have its rank, with size 1 where they are alike, or
/// with a size for blocks along an axis.
struct SpelledWeights {
  mlir::Value stored;          ///< numbers of at most 8 bits
  mlir::Value scale, zero;     ///< null: 1, 0
  int64_t axis = 1, block = 0; ///< of DequantizeLinear
  /// Its last two dims are then turned: matrices are put together as they lie.
  bool isTurned = false;
  mlir::IntegerAttr activationBits; ///< that a product may have; null: all

  /// Of `value`, if it is that; layouts of what is read are made in between. Parts
  /// that a Concat puts together are put together as they are stored. What is `known`
  /// of a block is read, and made, once.
  static std::optional<SpelledWeights>
  of(mlir::Value value, mlir::OpBuilder &builder, struct ReadWeights &known);

  /// Can kernels multiply it as it is stored? Scales and zero points are alike along
  /// the dim that is summed, or change from block to block of whole words.
  bool isForProduct() const;
  /// Scales, but not one for each element, as a mask of integers has.
  bool hasFewScales() const;
};

/// What values of a block are, by the depth down to which they were read: a Concat of
/// one value many times, some levels deep, has more paths than a walk ends in.
struct ReadWeights {
  llvm::DenseMap<std::pair<mlir::Value, unsigned>,
                 std::optional<SpelledWeights>>
      byDepth;
};

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_WEIGHTS_SPELLEDWEIGHTS_H
