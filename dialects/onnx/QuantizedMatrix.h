//===- QuantizedMatrix.h - Weights that the compiler quantises ------------===//
//
// Matrices of the model's files that products read in fewer bits than the files
// have. A module lists them (`onnx.quantized`), each with its source and with
// where data and scales are in one file more, kQuantizedFile, which weights
// refer to like to any other. No phase reads it: it is made when what is
// compiled is written. Example, w f32 [k = 64, n = 4] as int4 in groups of 32:
//
//   data    [n, k]     4 * 64 / 2 bytes, at 0
//   scales  [n, k/32]  4 * 2 floats, at 128
//
// Groups count from the first of all k features, whichever of them a rank has,
// so that no number depends on the plan.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_QUANTIZEDMATRIX_H
#define SHARDC_DIALECTS_ONNX_QUANTIZEDMATRIX_H

#include "mlir/IR/BuiltinOps.h"

namespace shardc::onnx {

/// What weights call the file; no path in a model's folder begins so.
inline constexpr llvm::StringLiteral kQuantizedFile = "//quantized.bin";

struct QuantizedMatrix {
  mlir::StringAttr name, file; ///< of the source; empty: it is of zeros
  uint64_t offset = 0, length = 0;
  mlir::Type element, stored;
  int64_t batch = 1, rows = 0, columns = 0; ///< n and k, of each of `batch`
  bool isTransposed = false; ///< the source is [n, k], not [k, n]
  int64_t group = 0;         ///< along k; 0: all of it
  uint64_t dataOffset = 0, scaleOffset = 0; ///< in kQuantizedFile

  /// One that is rounded has no scales, and lies as its source does.
  bool isScaled() const { return !stored.isBF16(); }
  bool isZero() const { return file.empty(); }
  int64_t groups() const {
    return group > 0 ? (columns + group - 1) / group : 1;
  }
  uint64_t dataBytes() const;
  uint64_t scaleBytes() const;
};

llvm::SmallVector<QuantizedMatrix> quantizedMatrices(mlir::ModuleOp module);
void setQuantizedMatrices(mlir::ModuleOp module,
                          llvm::ArrayRef<QuantizedMatrix> matrices);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_QUANTIZEDMATRIX_H
