//===- FewQueries.h - Attention of few queries, as in a step of decoding --===//
//
// Memory bounds it: keys and values of a tile are read once, as they lie, by all
// its queries, and while they are at work memory is asked for the next ones.
// Numbers of 8 bits are never stored as others: a key's scale is that of its
// scores, a value's that of its weights.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_FEWQUERIES_H
#define SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_FEWQUERIES_H

#include "runtime/artifact/Format.h"
#include "runtime/kernels/host/attention/AttentionTile.h"
#include "runtime/kernels/host/simd/DigitRows.h"
#include "runtime/kernels/host/simd/Loops.h"

namespace shardc::runtime::host {

inline constexpr int64_t kFewQueries = 8;

/// Rows of keys or values as they lie; numbers of 8 bits have a scale for each.
struct StoredRows {
  const std::byte *rows;
  int64_t step; ///< from row to row, in elements
  artifact::ElementType element;
  const float *scales = nullptr;
  int64_t scaleStep = 0;

  /// From row `begin` on.
  StoredRows from(int64_t begin) const {
    return {rows + begin * step * artifact::elementBytes(element), step,
            element, scales ? scales + begin * scaleStep : nullptr, scaleStep};
  }
  NextRows next(int64_t columns) const {
    const int64_t bytes = artifact::elementBytes(element);
    return {rows, step * bytes, columns * bytes,
            reinterpret_cast<const std::byte *>(scales),
            scaleStep * int64_t(sizeof(float))};
  }
};

/// Each row of scores times the scales of its keys, or values.
inline void scaleScores(const ScoreTile<float> &tile, const StoredRows &of) {
  for (int64_t i = 0; of.scales && i < tile.rows; ++i) {
    float *row = tile.scores + i * tile.leading;
    if (of.scaleStep == 1) {
      loops().multiplyRow(row, of.scales, tile.count);
      continue;
    }
    for (int64_t j = 0; j < tile.count; ++j)
      row[j] *= of.scales[j * of.scaleStep];
  }
}

/// Of keys of `depth` numbers, the first of which is the tile's. Queries that are
/// digits are multiplied as these.
inline void scoreRows(const Matrix<float> &queries, const DigitRows &digits,
                      float scale, int64_t depth, const StoredRows &keys,
                      const NextRows &next, const ScoreTile<float> &tile) {
  RowProduct product;
  product.m = tile.rows;
  product.n = tile.count;
  product.k = depth;
  product.a = queries.data;
  product.rowStepA = queries.transposed ? 1 : queries.leading; // of one number
  product.b = keys.rows;
  product.rowStepB = keys.step;
  product.c = tile.scores;
  product.leadingC = tile.leading;
  product.alpha = scale;
  product.next = next;
  if (digits.digits)
    multiplyDigitRows(digits, product);
  else
    loops().multiplyRows.of(keys.element)(product);
  scaleScores(tile, keys);
}

/// Adds values of `columns` numbers, weighted by what has become of the scores.
inline void addRows(const ScoreTile<float> &tile, int64_t columns,
                    const StoredRows &values, const NextRows &next,
                    bool inDigits, float *to, int64_t leading) {
  scaleScores(tile, values);
  WeightedRows sum;
  sum.m = tile.rows;
  sum.n = columns;
  sum.k = tile.count;
  sum.weights = tile.scores;
  sum.leadingWeights = tile.leading;
  sum.b = values.rows;
  sum.rowStepB = values.step;
  sum.c = to;
  sum.leadingC = leading;
  sum.next = next;
  inDigits ? addDigitRows(sum) : loops().addRows.of(values.element)(sum);
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_FEWQUERIES_H
