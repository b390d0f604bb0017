//===- KeyParts.h - Parts of each page's places, by attention -------------===//
#ifndef SHARDC_PASSES_IMPORT_ROWS_KEYPARTS_H
#define SHARDC_PASSES_IMPORT_ROWS_KEYPARTS_H

#include "dialects/onnx/ops/Pages.h"
#include "passes/import/Passes.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>

namespace shardc::import {

/// Of parts that keys may have, by attention in the order of the module, those that
/// a plan gives to ranks of their own. The module has no parts yet.
using FitKeyParts = std::function<llvm::SmallVector<int64_t>(
    mlir::ModuleOp, llvm::ArrayRef<int64_t>)>;

std::unique_ptr<mlir::Pass> createSplitKeys(SplitKeysOptions options,
                                            FitKeyParts fit);

/// Attention to pages, in the order of the module.
llvm::SmallVector<onnx::PagedAttentionOp>
pagedAttentions(mlir::ModuleOp module);

/// How many ranks would hold the same keys of each of them, where so many share
/// out heads and positions.
llvm::SmallVector<int64_t>
copiesOfKeys(llvm::ArrayRef<onnx::PagedAttentionOp> attentions,
             int64_t headWays, int64_t contextWays);

/// The most parts that so many copies may be, of pages with that many positions.
int64_t mostKeyParts(onnx::PagedAttentionOp attention, int64_t copies);

/// Makes each of several parts attention to them, and a merge.
void splitKeys(llvm::ArrayRef<onnx::PagedAttentionOp> attentions,
               llvm::ArrayRef<int64_t> parts);

/// One warning for all that have fewer parts than there are copies because of
/// the size of their pages.
void warnAboutCopies(llvm::ArrayRef<onnx::PagedAttentionOp> attentions,
                     llvm::ArrayRef<int64_t> copies);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ROWS_KEYPARTS_H
