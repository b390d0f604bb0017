//===- AttentionParts.h - What attention operators are made of ------------===//
//
// ONNX Runtime has four attention operators with many layouts and masks. All
// become heads [b, h, s, d] and one product of attention:
//
//   Value q = splitHeads(d, query, 8);                     [b, s, 96]
//   mask.hide(paddingMask, ...), mask.hideLater(past, s, t)
//   mergeHeads(d, attend(d, {q, k, v}, mask, scale))
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_ATTENTIONPARTS_H
#define SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_ATTENTIONPARTS_H

#include "dialects/onnx/Decomposition.h"

namespace shardc::onnx {

/// [b, s, heads * size] -> [b, heads, s, size]; an error if the heads do not
/// divide the dim.
mlir::Value splitHeads(Decomposition &d, mlir::Value value, int64_t heads);
/// [b, s, heads, size] <-> [b, heads, s, size].
mlir::Value exchangeHeads(Decomposition &d, mlir::Value value);
/// [b, heads, s, size] -> [b, s, heads * size].
mlir::Value mergeHeads(Decomposition &d, mlir::Value value);
/// `past` (null: none) and `value` one after the other, [b, heads, s, size].
mlir::Value appendToPast(Decomposition &d, mlir::Value past, mlir::Value value);

/// The attribute's scale, or 1 / sqrt(head size) for 0; nothing, with an error,
/// where that size is symbolic.
std::optional<float> scaleOr(Decomposition &d, const llvm::APFloat &scale,
                             mlir::Value heads);

/// What is added to the scores, and which of them count at all; all broadcast
/// to [b, h, s, t]. A null part is an error that was emitted.
struct ScoreMask {
  mlir::Value bias;    ///< null: none
  mlir::Value visible; ///< bool; null: all
  bool isKnown = true; ///< false: there was an error
  bool hidesByLowest =
      false; ///< padding does, by the lowest number of its type

  /// Scores get `bias` too.
  void add(Decomposition &d, mlir::Value more);
  /// The same of an operand [b or 1, h or 1, s, t].
  llvm::LogicalResult addScores(Decomposition &d, mlir::Value more,
                                dist::DimExpr queries, dist::DimExpr keys);
  /// Scores [b, s, t] of keys that `padding` hides get `filter` too. The mask is
  /// [b, t], [b, s, t] or [b, 1, >= t, >= t] of 0 and 1, or the lengths [b] of the
  /// keys, with starts behind them [2 * b], or where rows begin [3 * b + 2]; [b, 1]
  /// hides nothing. Others are an error, when run where a symbol decides.
  void addPadding(Decomposition &d, mlir::Value padding,
                  const Decomposition::Dims &scores, mlir::Type element,
                  double filter);
  /// Only those of `keys` too.
  void show(Decomposition &d, mlir::Value keys);
  /// The same of keys up to each query, behind padding and in front of other
  /// biases: the others get the lowest number. Where padding hides keys by it too,
  /// a row that sees none has all alike, as in ONNX Runtime.
  void showCausal(Decomposition &d, mlir::Value keys, mlir::Type element);
  /// As one operand of onnx.Attention, of bool or `element`; null: none.
  mlir::Value combined(Decomposition &d, mlir::Type element) const;
};

/// Bool [s, t]: keys up to the query, which stands `past` keys behind the
/// first. The last query sees all keys, as in ONNX Runtime: where the operator
/// is given a cache as its keys, one query is the newest of many positions.
mlir::Value causalKeys(Decomposition &d, dist::DimExpr past,
                       dist::DimExpr queries, dist::DimExpr keys);

struct AttentionHeads {
  mlir::Value query, key, value; ///< [b, h, s, d], [b, kv, t, d], [b, kv, t, e]
  float scale = 1, softcap = 0;
  mlir::Value sinks = {}; ///< [h], or null: a score each that has no value
};
/// [b, h, s, e].
mlir::Value attend(Decomposition &d, const AttentionHeads &heads,
                   const ScoreMask &mask);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_ATTENTIONPARTS_H
