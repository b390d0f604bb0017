//===- Matching.h - Reading a graph backwards -----------------------------===//
//
// What the recovery passes share. They match by data flow: which op made a
// value, from which operands, with which constants. Nothing looks at names.
//
//   x * 0.5        splatConstant of operand 1 is 0.5
//   Mul(w, n)      otherOperand(mul, n) is w
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_MATCHING_H
#define SHARDC_PASSES_IMPORT_MATCHING_H

#include "dialects/onnx/Onnx.h"

namespace shardc::import {

/// Global sizes of a tensor.
using Dims = llvm::SmallVector<dist::DimExpr, 4>;

/// The number, if `value` is a constant all of whose elements are that number.
std::optional<double> splatConstant(mlir::Value value);

/// The same for the integer type of shapes and positions.
std::optional<int64_t> splatInteger(mlir::Value value);

/// The operand of a binary op that is not `one`; null if that is none or both.
mlir::Value otherOperand(mlir::Operation *op, mlir::Value one);

/// The only user of a value that has one use; else null.
mlir::Operation *onlyUser(mlir::Value value);

/// Made by the same ops from the same values, a few ops back at most: exporters
/// write some computations twice.
bool isSame(mlir::Value a, mlir::Value b, unsigned depth = 6);

/// `value` may be `ideal` but for what rounding so many constants, of which it
/// is the product, to the float type `type` does. The next number of that type
/// but one is another constant.
bool isClose(double value, double ideal, mlir::Type type, unsigned roundings);

bool haveSameDims(mlir::Value a, mlir::Value b);
mlir::Type elementOf(mlir::Value value);

/// Size of the largest relative rounding error of a float type.
double epsilonOf(mlir::Type element);

Dims dimsOf(mlir::Value value);

/// The value that `value`, of other dims, is a Reshape of; it itself if it has
/// those dims; null if neither.
mlir::Value shapedAs(mlir::Value value, llvm::ArrayRef<dist::DimExpr> dims);

/// `value` with those dims, without a Reshape of a Reshape.
mlir::Value reshaped(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value value, llvm::ArrayRef<dist::DimExpr> dims);

/// `value` with dims moved by `perm`, without a Transpose of a Transpose.
mlir::Value transposed(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value value, llvm::ArrayRef<int64_t> perm);

/// Erases the ops of `block` that nobody uses; returns how many.
unsigned eraseDead(mlir::Block &block);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_MATCHING_H
