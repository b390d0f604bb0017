//===- KnownValue.h - Small tensors known at compile time -----------------===//
//
// The elements are symbolic integers or numbers:
//
//   Shape of tensor<batch x seq x 96>   i64 [3] = batch, seq, 96
//   Constant dense<0.5>                 f32 []  = 0.5
//
// Functions that fold an op on known values give nothing when unsure; the op
// then stays.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_KNOWNVALUE_H
#define SHARDC_DIALECTS_ONNX_KNOWNVALUE_H

#include "dialects/dist/algebra/DimExpr.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <variant>

namespace shardc::onnx {

/// Element of a small tensor: symbolic integer (bool: 0 or 1) or number,
/// already rounded to the tensor's element type.
using KnownScalar = std::variant<dist::DimExpr, double>;

/// A small tensor whose elements are all known.
struct KnownValue {
  mlir::Type element;
  llvm::SmallVector<int64_t, 4> shape;
  llvm::SmallVector<KnownScalar, 4> elements; ///< row-major

  /// The integers, if that is what it holds.
  std::optional<llvm::SmallVector<dist::DimExpr, 4>> asDims() const;
  std::optional<llvm::SmallVector<int64_t, 4>> asConstants() const;

  /// The attribute of an onnx.Constant; null if some element is symbolic.
  mlir::DenseElementsAttr asElements() const;
};

/// Nothing for attributes of more than `limit` elements, or of a kind that
/// cannot be read.
std::optional<KnownValue> readKnown(mlir::ElementsAttr value, int64_t limit);

/// The integers if all dims are constants.
std::optional<llvm::SmallVector<int64_t, 4>>
asConstants(llvm::ArrayRef<dist::DimExpr> dims);

int64_t numElements(llvm::ArrayRef<int64_t> shape);

/// Calls `visit` for each index of `shape`, row-major.
void forEachIndex(llvm::ArrayRef<int64_t> shape,
                  llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

/// Row-major position of `index`, right-aligned to `shape`, whose dims of size
/// 1 are broadcast.
int64_t broadcastPosition(llvm::ArrayRef<int64_t> index,
                          llvm::ArrayRef<int64_t> shape);

/// Elements of `source` moved: the element at each index of `shape` is the one
/// at `from(index)`, which may have more or fewer dims.
KnownValue moveElements(
    const KnownValue &source, llvm::ArrayRef<int64_t> shape,
    llvm::function_ref<llvm::SmallVector<int64_t>(llvm::ArrayRef<int64_t>)>
        from);

/// The number as the element type stores it; nothing if it does not fit an
/// integer type.
std::optional<KnownScalar> storeAs(mlir::Type element,
                                   const KnownScalar &value);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_KNOWNVALUE_H
