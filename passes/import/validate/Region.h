//===- Region.h - What a recovery replaces, and by what -------------------===//
//
// Two values that should be the same, and the ops that lie between them and
// what both are made of:
//
//   %s = onnx.Sigmoid %x        leaves  %x
//   %a = onnx.Mul %x, %s        old     %a
//   %b = onnx.Swish %x          made    %b
//
// Both values are functions of the leaves. If they are the same function, one
// may stand for the other, whatever the leaves are made of. That may be asking
// for too much: of indices that a TopK chose none comes twice. So a region can
// be had with some levels of what is behind the leaves.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_VALIDATE_REGION_H
#define SHARDC_PASSES_IMPORT_VALIDATE_REGION_H

#include "dialects/onnx/Onnx.h"

#include <optional>

namespace shardc::import {

/// Numbers the ops of a block so that each has a larger one than what its
/// operands are made by, those that a pass adds included. Where ops are erased
/// while it is in use, insert() is told of all new ones.
class OpOrder {
public:
  OpOrder() = default;
  explicit OpOrder(mlir::Block &block);

  uint64_t of(mlir::Operation *op);
  /// What was known of another op at the same place in memory is forgotten.
  void insert(mlir::Operation *op) { numbers.erase(op); }
  /// Of those around the block constants alone are.
  bool contains(mlir::Operation *op) const {
    return op->getBlock() == block || op->getNumOperands() == 0;
  }
  /// The op whose data gives a symbol its value; null for sizes of inputs.
  mlir::Operation *readerOf(llvm::StringRef symbol) const {
    return readers.lookup(symbol);
  }

private:
  llvm::DenseMap<mlir::Operation *, uint64_t> numbers;
  llvm::StringMap<mlir::Operation *> readers;
  uint64_t numAdded = 0;
  mlir::Block *block = nullptr;
};

struct Region {
  llvm::SmallVector<mlir::Value, 1> old, made; ///< as many
  llvm::SmallVector<mlir::Operation *> ops;    ///< operands come before users
  llvm::SmallVector<mlir::Value> leaves;
  /// Elements of leaves that sizes say: a length is the size of a cache.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<dist::DimExpr, 4>> known{};
  /// Whether the old values are results of an op that has a definition; else
  /// they are spelt out, and one op is made of them.
  bool isDefined = false;
};

/// With `levels` of ops behind what both values are made of. Nothing for more
/// than a few thousand ops.
std::optional<Region> regionOf(llvm::ArrayRef<mlir::Value> old,
                               llvm::ArrayRef<mlir::Value> made, OpOrder &order,
                               unsigned levels, bool isDefined);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_VALIDATE_REGION_H
