//===- MergedHeads.h - Batch and heads as one dim -------------------------===//
//
// torch.bmm has one batch dim, so OPT and BLOOM merge batch and heads:
//
//   q = Reshape(b h s d -> (b h) s d), k, v alike
//   Reshape(MatMul(q, k^T) + alibi -> b h s t) + mask
//   MatMul(Softmax(Reshape(... -> (b h) s t)), v)
//
// Before attention is looked for, such chains are written with the dims apart.
// A Reshape moves no element, so this holds for every op to which the merged
// dim is one of batch.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_ATTENTION_MERGEDHEADS_H
#define SHARDC_PASSES_IMPORT_ATTENTION_MERGEDHEADS_H

#include "mlir/IR/Block.h"

namespace shardc::import {

class Validator;

/// Products of merged values, and what is computed from them element by element
/// or by a softmax, become those of 4-D values.
void splitMergedHeads(mlir::Block &block, Validator &validator);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ATTENTION_MERGEDHEADS_H
