//===- GemmProduct.h - A Gemm as a product and what it does besides -------===//
//
//   y = Gemm x, w, c {alpha = 2, beta = 1}   ->   p = MatMul x, w
//                                                 y = Add (Mul p, 2), c
//
// Products read weights as they are stored in fewer bits; a Gemm is none of them.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_WEIGHTS_GEMMPRODUCT_H
#define SHARDC_PASSES_IMPORT_WEIGHTS_GEMMPRODUCT_H

#include "dialects/onnx/ops/Contraction.h"

namespace shardc::import {

/// Not where it is scaled before it is rounded to 16 bits, which may not hold what a
/// product beside its scale would be.
bool isProductAndMore(onnx::GemmOp gemm);

/// Puts them in its place, with the weight `matrix` [k, n]. Precondition:
/// isProductAndMore(gemm).
onnx::MatMulOp replaceByProduct(mlir::OpBuilder &builder, onnx::GemmOp gemm,
                                mlir::Value matrix);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_WEIGHTS_GEMMPRODUCT_H
