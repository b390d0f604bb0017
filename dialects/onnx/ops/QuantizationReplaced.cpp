//===- QuantizationReplaced.cpp - Quantised ops that become others --------===//
//
// Smallest and largest elements, sums of integers and scales are left to ops
// that know how to be split: a rank's own minimum must not become its scale.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Quantization.h"

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Activation.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Math.h"
#include "dialects/onnx/ops/Reduction.h"

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

QuantizedValue quantizeDynamically(Decomposition &d, Value input) {
  Type element = d.element(input);
  Type ui8 = d.inference.builder.getIntegerType(8, /*isSigned=*/false);
  SmallVector<DimExpr> axes;
  for (int64_t i = 0; i < d.rank(input); ++i)
    axes.push_back(i);
  Value all = d.integers(axes), zero = d.number(element, 0);
  NamedAttribute noDims = d.attribute("keepdims", 0);
  Value high = d.make<MaxOp>({d.make<ReduceMaxOp>({input, all}, noDims), zero});
  Value low = d.make<MinOp>({d.make<ReduceMinOp>({input, all}, noDims), zero});
  Value steps = d.number(element, 255);
  Value scale = d.make<DivOp>({d.sub(high, low), steps});
  // All elements are 0: any scale will do, but 0.
  scale = d.make<WhereOp>(
      {d.make<EqualOp>({high, low}), d.number(element, 1), scale});
  Value start = d.make<DivOp>({d.sub(zero, low), scale});
  Value rounded = d.make<RoundOp>({d.make<ClipOp>({start, zero, steps})});
  Value zeroPoint = d.cast(rounded, ui8);
  Value quantized = d.make<QuantizeLinearOp>({input, scale, zeroPoint});
  return {quantized, scale, zeroPoint};
}

LogicalResult DynamicQuantizeLinearOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  QuantizedValue result = quantizeDynamically(d, getInput());
  return d.replaceBy({result.data, result.scale, result.zeroPoint});
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// Conv with the attributes of `d.op`.
static Value convolve(Decomposition &d, ArrayRef<Value> operands) {
  SmallVector<NamedAttribute> attributes;
  for (StringRef name :
       {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"})
    if (Attribute value = d.op->getAttr(name))
      attributes.emplace_back(StringAttr::get(d.op->getContext(), name), value);
  return d.make<ConvOp>(operands, attributes);
}

LogicalResult ConvIntegerOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  auto centered = [&](Value value, Value zeroPoint, bool isFilter) {
    Value result = d.cast(value, d.f32());
    if (!zeroPoint)
      return result;
    if (isFilter && d.rank(zeroPoint) == 1) { // one for each output channel
      Decomposition::Dims dims(d.rank(value), DimExpr(1));
      dims[0] = d.dims(zeroPoint)[0];
      zeroPoint = d.reshape(zeroPoint, dims);
    }
    return d.sub(result, d.cast(zeroPoint, d.f32()));
  };
  Value result = convolve(d, {centered(getInput(), d.operand(2), false),
                              centered(getFilter(), d.operand(3), true)});
  return d.replaceBy(
      {d.cast(d.make<RoundOp>({result}), inference.builder.getI32Type())});
}

LogicalResult QLinearConvOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  NamedAttribute channels = d.attribute("axis", 0);
  SmallVector<Value, 3> operands = {
      d.make<DequantizeLinearOp>(
          {getInput(), getInputScale(), getInputZeroPoint()}),
      d.make<DequantizeLinearOp>(
          {getFilter(), getFilterScale(), getFilterZeroPoint()}, channels)};
  if (Value bias = d.operand(8))
    operands.push_back(d.make<DequantizeLinearOp>(
        {bias, d.mul(getInputScale(), getFilterScale())}, channels));
  return d.replaceBy({d.make<QuantizeLinearOp>(
      {convolve(d, operands), getScale(), getZeroPoint()})});
}

//===----------------------------------------------------------------------===//
// QLinearMatMul
//===----------------------------------------------------------------------===//

LogicalResult QLinearMatMulOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  Value sum = d.make<MatMulIntegerOp>(
      {getLhs(), getRhs(), getLhsZeroPoint(), getRhsZeroPoint()});
  // Scales of rows stand beside those of columns.
  Value rows = getLhsScale();
  if (d.rank(rows) == 1)
    rows = d.reshape(rows, {d.dims(rows)[0], 1});
  Value result =
      d.mul(d.cast(sum, d.f32()),
            d.mul(d.cast(rows, d.f32()), d.cast(getRhsScale(), d.f32())));
  return d.replaceBy({d.make<QuantizeLinearOp>(
      {result, d.cast(getScale(), d.f32()), getZeroPoint()})});
}

} // namespace shardc::onnx
