//===- AttentionScores.h - The chain in front of a softmax ----------------===//
//
// What exporters do between the product of queries and keys and the softmax,
// read backwards:
//
//   MatMul(q * s, k^T * s)      scale s * s, and factors behind the product
//   tanh(x / c) * c             softcap c
//   x + mask                    also Where(condition, x, low), max(x, low), and
//                               several: see ScoreMask.h
//   (x + mask) / c              a scale behind the mask
//   Concat(x, sinks)            one more column, which a Slice drops again
//   x - max(x)                  changes no softmax
//   Cast(x)                     to f32, whose softmax is narrowed again
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_ATTENTION_ATTENTIONSCORES_H
#define SHARDC_PASSES_IMPORT_ATTENTION_ATTENTIONSCORES_H

#include "passes/import/attention/ScoreMask.h"

namespace shardc::import {

struct AttentionScores {
  mlir::Value query;         ///< b h s d
  mlir::Value transposedKey; ///< b h d t
  double scale = 1;
  double softcap = 0;
  llvm::SmallVector<MaskStep, 4> masks; ///< the one on the product first
  mlir::Value sinks;                    ///< broadcasts to b h s 1; may be null
};

/// Reads the operand of a softmax over the last dim, whose weights are used as
/// `element`; nothing if it is no scaled product of 4-D operands of that type.
std::optional<AttentionScores> readScores(mlir::Value operand,
                                          mlir::Type element);

/// Takes constant factors off `value` into `scale`.
mlir::Value unscaled(mlir::Value value, double &scale);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ATTENTION_ATTENTIONSCORES_H
