//===- LayoutChain.cpp - Reshape, Transpose, Reshape ----------------------===//

#include "passes/import/layout/LayoutChain.h"

#include "llvm/ADT/STLExtras.h"

namespace shardc::import {

using dist::DimExpr;

bool isIdentity(llvm::ArrayRef<int64_t> perm) {
  for (auto [i, d] : llvm::enumerate(perm))
    if (static_cast<int64_t>(i) != d)
      return false;
  return true;
}

std::optional<llvm::SmallVector<int64_t>>
permutationOf(llvm::ArrayRef<DimExpr> dims, llvm::ArrayRef<DimExpr> merged,
              llvm::ArrayRef<int64_t> perm) {
  // groups[m]: the dims that are merged into dim m, in order. Dims of size 1
  // may go anywhere; here they go to the dim that is being filled.
  llvm::SmallVector<llvm::SmallVector<int64_t, 2>> groups(merged.size());
  size_t next = 0;
  for (size_t m = 0; m < merged.size(); ++m) {
    DimExpr size = 1;
    while (size != merged[m]) {
      if (next == dims.size() || !merged[m].exactDiv(size * dims[next]))
        return std::nullopt;
      size = size * dims[next];
      groups[m].push_back(next++);
    }
  }
  for (; next < dims.size(); ++next) {
    if (!dims[next].isConstant(1) || groups.empty())
      return std::nullopt;
    groups.back().push_back(next);
  }
  llvm::SmallVector<int64_t> result;
  for (int64_t m : perm)
    llvm::append_range(result, groups[m]);
  return result;
}

} // namespace shardc::import
