//===- ScoreMask.h - What is done to scores in front of a softmax ---------===//
//
// Exporters add masks to scores, put a low number in the place of some, and let
// none fall below a number, in any order. These steps, in the order in which
// they are applied, are composed to one mask m, for which x + m is what they
// make of scores x:
//
//   Add(x, a)            m = a
//   Where(c, that, low)  m = Where(c, a, low)
//   Max(that, floor)     m = Max(Where(c, a, low), floor)
//   Mul(that, f)         m = Mul(Max(..), f), and the scale of x
//
// Composed, not summed: where two of them hide a score, low + low would be -inf
// or less than low, and a row that they hide as a whole not the mean of all its
// values any more.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_ATTENTION_SCOREMASK_H
#define SHARDC_PASSES_IMPORT_ATTENTION_SCOREMASK_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace shardc::import {

/// One step. Numbers of Fill and Floor are so low that a score added to one is
/// that number again.
struct MaskStep {
  enum Kind {
    Add,   ///< `value` is added
    Fill,  ///< `low` instead where the condition `value` is false
    Floor, ///< `low` instead of what is less; never the first step
    Scale  ///< times `factor`, in (0, 1]; never the first step
  } kind;
  mlir::Value value;
  double low = 0;
  bool isHidden = false; ///< Fill: where the condition is true
  double factor = 1;
};

/// A mask that is 0 where all of the conditions hold, and `low` elsewhere.
struct MaskCondition {
  llvm::SmallVector<mlir::Value, 2> shown;
  double low = 0;
};

/// What Expand makes larger broadcasts by itself.
mlir::Value unexpanded(mlir::Value mask);

/// The steps as a condition; nothing if they add more than one number, or if
/// that may depend on how many of them hide a score.
std::optional<MaskCondition> conditionOf(mlir::OpBuilder &builder,
                                         mlir::Location loc,
                                         llvm::ArrayRef<MaskStep> steps);

/// The steps as what is added to scores of this type; null if there are none,
/// or if it is not certain that they broadcast.
mlir::Value composed(mlir::OpBuilder &builder, mlir::Location loc,
                     llvm::ArrayRef<MaskStep> steps, mlir::Type element);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ATTENTION_SCOREMASK_H
