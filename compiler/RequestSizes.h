//===- RequestSizes.h - Sizes that users give, by the model's symbols -----===//
//
// The model's own names; "batch" and "seq" also mean the first and second dim of
// the first input, "past" how many positions the caches hold.
//
//   batch=32,seq=1024,past=8192    for input_ids [batch, sequence] and
//   batch = 32, sequence = 1024, past_sequence = 8192    past [.., past_sequence, ..]
// Of a step of rows they say what requests it stands for: 32 rows, 32 * 1024
// tokens, pages for 8192 + 1024 positions of each.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_REQUESTSIZES_H
#define SHARDC_COMPILER_REQUESTSIZES_H

#include "passes/plan/degrees/Workload.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace shardc {

/// The symbols of a step of rows with pages of so many positions.
plan::RowSizes rowSizes(int64_t page);

/// Requests of some sizes, and how many there are of them beside others.
struct RequestKind {
  llvm::StringMap<int64_t> sizes;
  double weight = 1;
};

/// "" or what is wrong: a size that the model does not have.
std::string resolveSizes(mlir::ModuleOp imported,
                         const llvm::StringMap<int64_t> &given,
                         llvm::StringMap<int64_t> &resolved);

} // namespace shardc

#endif // SHARDC_COMPILER_REQUESTSIZES_H
