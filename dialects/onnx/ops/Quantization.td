//===- Quantization.td - Integers that stand for numbers ------------------===//

include "dialects/onnx/Onnx.td"

// After import scale and zero point have the rank of the data. Each of their
// dims is 1, or the data's, or along `axis` its number of blocks, each of
// `block_size` but the last, which may be shorter; 0: there are no blocks. The
// result's type says what `output_dtype` did. With `activation_bits`, which no
// file has, a product may round what it multiplies the numbers by: 8: to so many
// bits, block by block; 16: to bfloat16, and the numbers as well.
def Onnx_DequantizeLinearOp : Onnx_OwnOp<"DequantizeLinear"> {
  let summary = "(x - zero point) * scale";
  let arguments = (ins AnyTensor:$input, AnyTensor:$scale,
                       Variadic<Onnx_Value>:$zero_point,
                       DefaultValuedAttr<I64Attr, "1">:$axis,
                       DefaultValuedAttr<I64Attr, "0">:$block_size,
                       OptionalAttr<I64Attr>:$activation_bits,
                       OptionalAttr<I64Attr>:$output_dtype);
  let results = (outs AnyTensor:$result);
}
def Onnx_QuantizeLinearOp : Onnx_OwnOp<"QuantizeLinear"> {
  let summary = "round(x / scale) + zero point, clamped to the type";
  let arguments = (ins AnyTensor:$input, AnyTensor:$scale,
                       Variadic<Onnx_Value>:$zero_point,
                       DefaultValuedAttr<I64Attr, "1">:$axis,
                       DefaultValuedAttr<I64Attr, "0">:$block_size,
                       DefaultValuedAttr<I64Attr, "1">:$saturate,
                       DefaultValuedAttr<I64Attr, "0">:$precision,
                       OptionalAttr<I64Attr>:$output_dtype);
  let results = (outs AnyTensor:$result);
}

def Onnx_MatMulIntegerOp
    : Onnx_OwnOp<"MatMulInteger", ["partialRule", "multiplyAdds"]> {
  let summary = "(A - a) * (B - b) of 8-bit integers, as i32";
  let description = [{
    After import the zero points broadcast to A and B; along the dim that is
    summed they have size 1.
  }];
  let arguments = (ins AnyTensor:$lhs, AnyTensor:$rhs,
                       Variadic<Onnx_Value>:$zero_points);
  let results = (outs AnyTensor:$result);
}

def Onnx_DynamicQuantizeLinearOp : Onnx_ReplacedOp<"DynamicQuantizeLinear"> {
  let summary = "ui8 by the smallest and largest element";
  let arguments = (ins AnyTensor:$input);
  let results = (outs AnyTensor:$quantized, AnyTensor:$scale,
                      AnyTensor:$zero_point);
}
def Onnx_ConvIntegerOp : Onnx_ReplacedOp<"ConvInteger"> {
  let extraClassDeclaration = Onnx_Ranks<"3+ 3+ 0|1">.declaration;
  let summary = "Conv of (x - a) and (filter - b)";
  let arguments = (ins AnyTensor:$input, AnyTensor:$filter,
                       Variadic<Onnx_Value>:$zero_points,
                       DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
                       OptionalAttr<DenseI64ArrayAttr>:$dilations,
                       DefaultValuedAttr<I64Attr, "1">:$group,
                       OptionalAttr<DenseI64ArrayAttr>:$kernel_shape,
                       OptionalAttr<DenseI64ArrayAttr>:$pads,
                       OptionalAttr<DenseI64ArrayAttr>:$strides);
  let results = (outs AnyTensor:$result);
}
def Onnx_QLinearMatMulOp : Onnx_ReplacedOp<"QLinearMatMul"> {
  let arguments = (ins AnyTensor:$lhs, AnyTensor:$lhs_scale,
                       AnyTensor:$lhs_zero_point, AnyTensor:$rhs,
                       AnyTensor:$rhs_scale, AnyTensor:$rhs_zero_point,
                       AnyTensor:$scale, AnyTensor:$zero_point);
  let results = (outs AnyTensor:$result);
}
def Onnx_QLinearConvOp : Onnx_ReplacedOp<"QLinearConv"> {
  let extraClassDeclaration = Onnx_Ranks<"3+ one one 3+ 0|1 0|1 one one 1">.declaration;
  let arguments = (ins AnyTensor:$input, AnyTensor:$input_scale,
                       AnyTensor:$input_zero_point, AnyTensor:$filter,
                       AnyTensor:$filter_scale, AnyTensor:$filter_zero_point,
                       AnyTensor:$scale, AnyTensor:$zero_point,
                       Variadic<Onnx_Value>:$bias,
                       DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
                       OptionalAttr<DenseI64ArrayAttr>:$dilations,
                       DefaultValuedAttr<I64Attr, "1">:$group,
                       OptionalAttr<DenseI64ArrayAttr>:$kernel_shape,
                       OptionalAttr<DenseI64ArrayAttr>:$pads,
                       OptionalAttr<DenseI64ArrayAttr>:$strides);
  let results = (outs AnyTensor:$result);
}
