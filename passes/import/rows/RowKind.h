//===- RowKind.h - What a value of a request is in a step -----------------===//
#ifndef SHARDC_PASSES_IMPORT_ROWS_ROWKIND_H
#define SHARDC_PASSES_IMPORT_ROWS_ROWKIND_H

namespace shardc::import {

enum class RowKind {
  Shared,  ///< the same for all rows: weights, constants, places of keys
  OfRows,  ///< one for each row, in a leading dim: a mask of keys, past + 1
  Tokens,  ///< one for each new position: [1, t, 128] for [batch, seq, 128]
  Pool,    ///< of a cache, or of a transposed view of one, its pages
  Encoder, ///< one for each encoder key that comes with the step
};

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ROWS_ROWKIND_H
