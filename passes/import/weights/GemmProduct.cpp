//===- GemmProduct.cpp - A Gemm as a product and what it does besides -----===//

#include "passes/import/weights/GemmProduct.h"

#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"

using namespace mlir;

namespace shardc::import {

using namespace onnx;

bool isProductAndMore(GemmOp gemm) {
  return gemm.getAlpha().isExactlyValue(1) ||
         elementOf(gemm.getResult()).isF32();
}

static Value scaled(OpBuilder &builder, Location loc, Value value,
                    const APFloat &factor) {
  if (factor.isExactlyValue(1))
    return value;
  const Type element = elementOf(value);
  auto scalar = RankedTensorType::get({}, element);
  APFloat rounded = factor;
  bool isInexact = false;
  rounded.convert(cast<FloatType>(element).getFloatSemantics(),
                  APFloat::rmNearestTiesToEven, &isInexact);
  Value constant = ConstantOp::create(
      builder, loc, scalar, DenseElementsAttr::get(scalar, {rounded}));
  return MulOp::create(builder, loc, value.getType(), value, constant);
}

MatMulOp replaceByProduct(OpBuilder &builder, GemmOp gemm, Value matrix) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(gemm);
  const Location loc = gemm.getLoc();
  Value lhs = gemm.getLhs();
  if (gemm.getTransA())
    lhs = transposed(builder, loc, lhs, {1, 0});
  const Type type = gemm.getType();
  auto product =
      MatMulOp::create(builder, loc, type, lhs, matrix, IntegerAttr());
  Value result = scaled(builder, loc, product, gemm.getAlpha());
  // C times 0 is left out, whatever C is.
  if (!gemm.getAddend().empty() && !gemm.getBeta().isZero() &&
      !isa<NoneType>(gemm.getAddend().front().getType()))
    result = AddOp::create(
        builder, loc, type, result,
        scaled(builder, loc, gemm.getAddend().front(), gemm.getBeta()));
  gemm.replaceAllUsesWith(result);
  gemm.erase();
  return product;
}

} // namespace shardc::import
