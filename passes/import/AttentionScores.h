//===- AttentionScores.h - The chain in front of a softmax ----------------===//
//
// What exporters do between the product of queries and keys and the softmax,
// read backwards:
//
//   MatMul(q * s, k^T * s)      scale s * s, and factors behind the product
//   tanh(x / c) * c             softcap c
//   x + mask                    also Where(condition, x, low), and several
//   max(x + mask, low)          x + max(mask, low)
//   Concat(x, sinks)            one more column, which a Slice drops again
//   x - max(x)                  changes no softmax
//   Cast(x)                     to f32, whose softmax is narrowed again
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_ATTENTIONSCORES_H
#define SHARDC_PASSES_IMPORT_ATTENTIONSCORES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace shardc::import {

/// Something that hides scores.
struct ScoreMask {
  mlir::Value added;     ///< to the scores; null if a condition says which
  mlir::Value condition; ///< where it is false the score is `low` instead
  double low = 0;
  bool isHidden = false; ///< instead where the condition is true
  /// No element of what is added counts as less.
  std::optional<double> floor = std::nullopt;
};

struct AttentionScores {
  mlir::Value query;         ///< b h s d
  mlir::Value transposedKey; ///< b h d t
  double scale = 1;
  double softcap = 0;
  llvm::SmallVector<ScoreMask, 2> masks;
  mlir::Value sinks; ///< broadcasts to b h s 1; may be null
};

/// Reads the operand of a softmax over the last dim, whose weights are used as
/// `element`; nothing if it is no scaled product of 4-D operands of that type.
std::optional<AttentionScores> readScores(mlir::Value operand,
                                          mlir::Type element);

/// A tensor that is added to scores as a condition, where it adds 0 to what it
/// shows and one number to the rest.
std::optional<ScoreMask> conditionOf(mlir::Value added);

/// Takes constant factors off `value` into `scale`.
mlir::Value unscaled(mlir::Value value, double &scale);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ATTENTIONSCORES_H
