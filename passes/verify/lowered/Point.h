//===- Point.h - Numbers for sizes, and one rank --------------------------===//
//
// Programs are compared at a few points: small numbers for the symbols that
// satisfy the guards, and the coordinates of a rank. There, every size, stride
// and offset is a number.
//
//   batch = 3, seq = 5, rank 1 of "tp" = 2
//   [batch, seq, 48] split {_, _, "tp"}: this rank's element [2, 4, 0] is the
//   whole value's [2, 4, 24]
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_VERIFY_LOWERED_POINT_H
#define SHARDC_PASSES_VERIFY_LOWERED_POINT_H

#include "dialects/dist/Dist.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace shardc::verify {

using Index = llvm::SmallVector<int64_t, 6>;

struct Point {
  const dist::Mesh *mesh = nullptr;
  int64_t rank = 0;
  llvm::StringMap<int64_t> sizes;

  /// Symbols that only the data knows have a number, too. Nothing on overflow
  /// or division by 0.
  std::optional<int64_t> of(dist::DimExpr expr) const;
  std::optional<Index> of(llvm::ArrayRef<dist::DimExpr> exprs) const;
};

/// Numbers that satisfy the function's guards, another choice for each `seed`;
/// nothing where none were found.
std::optional<llvm::StringMap<int64_t>>
findSizes(mlir::func::FuncOp function, const dist::Mesh &mesh, unsigned seed);

/// Row-major number of an element, and back.
int64_t flatten(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> dims);
Index unflatten(int64_t number, llvm::ArrayRef<int64_t> dims);
int64_t countOf(llvm::ArrayRef<int64_t> dims);

/// What is read of an operand of these dims for element `index` of what it is
/// broadcast to: right-aligned, 0 along dims of 1.
Index broadcastIndex(llvm::ArrayRef<int64_t> index,
                     llvm::ArrayRef<int64_t> dims);

/// The place along a dim of the whole value of what a rank has at `local`, and
/// back; nothing where it does not have it.
std::optional<int64_t> toGlobal(const dist::DimSharding &dim, int64_t local,
                                const Point &point);
std::optional<int64_t> toLocal(const dist::DimSharding &dim, int64_t global,
                               const Point &point);

/// Sizes on this rank.
llvm::SmallVector<dist::DimExpr, 4> localDims(mlir::Type type);

} // namespace shardc::verify

#endif // SHARDC_PASSES_VERIFY_LOWERED_POINT_H
