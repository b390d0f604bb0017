//===- Quantization.h - Products with quantised weights -------------------===//
//
// A DequantizeLinear whose numbers one MatMul or MixtureOfExperts alone reads,
// maybe transposed, becomes part of that product's kernel: the numbers of a
// whole weight then never exist. It still binds its result to a buffer, which
// nobody uses, and which therefore goes.
//
// Where both operands of a MatMul are eight bits of float, or on the host
// integers of eight bits, with scales and zero points that are the same along
// what is summed, their bytes are multiplied (MatMulFloat8, MatMulQuantized).
// The numbers of the left one may be those of several products.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_LOWER_OPS_QUANTIZATION_H
#define SHARDC_PASSES_LOWER_OPS_QUANTIZATION_H

#include "dialects/onnx/ops/Quantization.h"
#include "passes/lower/Lowering.h"

namespace shardc::lower {

struct FusedWeights {
  onnx::DequantizeLinearOp dequantization; ///< null: no such product
  bool isTransposed = false;
};
FusedWeights findFusedWeights(mlir::OpOperand &weights);

/// The DequantizeLinear whose result is multiplied by such weights as bytes;
/// null: there is none.
onnx::DequantizeLinearOp findByteOperand(mlir::Operation *matmul,
                                         const FusedWeights &weights,
                                         const Lowering &lowering);

/// Data, scale and zero point as the product reads them, and what their kernel
/// must know of blocks but for `axis`, the dim that is summed.
struct FusedViews {
  llvm::SmallVector<ValueView, 3> views;
  Lowering::Config blocks; ///< empty: there are none
};
mlir::FailureOr<FusedViews> fusedViews(const FusedWeights &weights,
                                       Lowering &lowering);

llvm::LogicalResult lowerFusedProduct(mlir::Operation *matmul,
                                      const FusedWeights &weights,
                                      Lowering &lowering);

} // namespace shardc::lower

#endif // SHARDC_PASSES_LOWER_OPS_QUANTIZATION_H
