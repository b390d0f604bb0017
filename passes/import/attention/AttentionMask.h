//===- AttentionMask.h - What a mask hides --------------------------------===//
//
// Exporters compute masks from positions and from what the user passes:
//
//   key <= query  and  key > query - 8  and  attention_mask[b, key]
//
// The comparisons of positions are found again as bounds on the key's index j,
// given the query's index i (past being where the queries start):
//
//   j <= i + past  and  j >= i + past - 7  and  the rest, a smaller mask
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_ATTENTION_ATTENTIONMASK_H
#define SHARDC_PASSES_IMPORT_ATTENTION_ATTENTIONMASK_H

#include "dialects/dist/algebra/DimExpr.h"

#include "mlir/IR/Builders.h"

namespace shardc::import {

/// coefficient of the index along the last dim (keys) and the one before it
/// (queries) + offset.
struct Position {
  int64_t keys = 0, queries = 0;
  dist::DimExpr offset;
};

/// What an integer tensor is as such a position; nothing if it is another.
std::optional<Position> positionOf(mlir::Value value);

/// A condition on a key and a query, as a conjunction.
struct Visibility {
  std::optional<dist::DimExpr> upper;     ///< key <= query + upper
  std::optional<dist::DimExpr> lower;     ///< key >= query + lower
  llvm::SmallVector<mlir::Value, 4> rest; ///< other conditions
};

/// Reads a bool tensor for these numbers of queries and keys, its last dims, as
/// a conjunction; whatever is no bound is rest.
Visibility visibilityOf(mlir::Value condition, dist::DimExpr queries,
                        dist::DimExpr keys);

/// Dims that both broadcast to; nothing if that is not certain.
std::optional<llvm::SmallVector<dist::DimExpr, 4>>
broadcastDims(llvm::ArrayRef<dist::DimExpr> a, llvm::ArrayRef<dist::DimExpr> b);

/// The conjunction of conditions as one value, before the builder's place;
/// null if there are none, or if their dims do not broadcast for certain.
mlir::Value conjunction(mlir::OpBuilder &builder, mlir::Location loc,
                        llvm::ArrayRef<mlir::Value> conditions);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ATTENTION_ATTENTIONMASK_H
