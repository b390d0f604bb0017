//===- AttentionHeads.h - Queries, keys and values by heads ---------------===//
//
// Attention takes keys as b kv t d and repeats heads itself. Exporters
// transpose the keys for the product, and repeat keys and values for groups of
// queries:
//
//   b kv t d -> Reshape, Expand b kv g t d -> Reshape b (kv g) t d
//            -> Transpose b (kv g) d t
//
// Both orders of the two are undone here. What is made takes the place of
// chains, so no Reshape of a Reshape and no Transpose of a Transpose is left.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_ATTENTION_ATTENTIONHEADS_H
#define SHARDC_PASSES_IMPORT_ATTENTION_ATTENTIONHEADS_H

#include "passes/import/attention/AttentionScores.h"

#include "dialects/dist/algebra/DimExpr.h"
#include "mlir/IR/Builders.h"

namespace shardc::import {

/// Operands of onnx.Attention: b h s d, b kv t d, b kv t e, and sinks of h.
struct AttentionHeads {
  mlir::Value query, key, value, sinks;
};

/// Keys and values of 4-D attention as they were before each of their heads was
/// repeated for a group of queries; false if that was not done to both alike.
bool dropRepetition(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value &key, mlir::Value &value);

/// The heads of scores of dims b h s t; nothing if their dims do not fit. A
/// constant factor of the keys goes to `scores.scale`.
std::optional<AttentionHeads>
readHeads(mlir::OpBuilder &builder, mlir::Location loc, AttentionScores &scores,
          mlir::Value value, llvm::ArrayRef<dist::DimExpr> dims);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ATTENTION_ATTENTIONHEADS_H
