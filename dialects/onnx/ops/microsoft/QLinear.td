//===- QLinear.td - com.microsoft: ops on quantised values ----------------===//
//
// A value is followed by its scale and its zero point, which may be absent:
// then it is 0. Those of the result come last.
//
//===----------------------------------------------------------------------===//

include "dialects/onnx/ops/microsoft/Microsoft.td"

class Onnx_QLinearUnaryOp<string name, dag attributes = (ins)>
    : Onnx_MicrosoftOp<"QLinear" # name, 5, "* one"> {
  dag operands = (ins AnyTensor:$input, AnyTensor:$input_scale,
                      Onnx_Value:$input_zero_point, AnyTensor:$scale,
                      Variadic<Onnx_Value>:$zero_point);
  let arguments = !con(operands, attributes);
}
def Onnx_MicrosoftQLinearSigmoidOp : Onnx_QLinearUnaryOp<"Sigmoid">;
def Onnx_MicrosoftQLinearLeakyReluOp
    : Onnx_QLinearUnaryOp<"LeakyRelu", (ins Onnx_Float<"0.01f">:$alpha)>;
def Onnx_MicrosoftQLinearSoftmaxOp
    : Onnx_QLinearUnaryOp<"Softmax",
                          (ins Onnx_Int<"-1">:$axis, I64Attr:$opset)> {
  let summary = "Before opset 13 all dims from `axis` on are one row";
}
def Onnx_MicrosoftQLinearGlobalAveragePoolOp
    : Onnx_QLinearUnaryOp<"GlobalAveragePool",
                          (ins Onnx_Int<"0">:$channels_last)>;
def Onnx_MicrosoftQLinearAveragePoolOp
    : Onnx_QLinearUnaryOp<"AveragePool",
                          (ins Onnx_String<"NOTSET">:$auto_pad,
                               Onnx_Int<"0">:$ceil_mode,
                               Onnx_Int<"0">:$channels_last,
                               Onnx_Int<"0">:$count_include_pad,
                               DenseI64ArrayAttr:$kernel_shape,
                               OptionalAttr<DenseI64ArrayAttr>:$pads,
                               OptionalAttr<DenseI64ArrayAttr>:$strides)>;

class Onnx_QLinearBinaryOp<string name>
    : Onnx_MicrosoftOp<"QLinear" # name, 8, "* one one * one"> {
  let arguments = (ins AnyTensor:$lhs, AnyTensor:$lhs_scale,
                       Onnx_Value:$lhs_zero_point, AnyTensor:$rhs,
                       AnyTensor:$rhs_scale, Onnx_Value:$rhs_zero_point,
                       AnyTensor:$scale, Variadic<Onnx_Value>:$zero_point);
}
def Onnx_MicrosoftQLinearAddOp : Onnx_QLinearBinaryOp<"Add">;
def Onnx_MicrosoftQLinearMulOp : Onnx_QLinearBinaryOp<"Mul">;

def Onnx_MicrosoftQLinearWhereOp : Onnx_MicrosoftOp<"QLinearWhere", 9, "* * one one * one one one one"> {
  let arguments = (ins AnyTensor:$condition, AnyTensor:$lhs,
                       AnyTensor:$lhs_scale, Onnx_Value:$lhs_zero_point,
                       AnyTensor:$rhs, AnyTensor:$rhs_scale,
                       Onnx_Value:$rhs_zero_point, AnyTensor:$scale,
                       Variadic<Onnx_Value>:$zero_point);
}
def Onnx_MicrosoftQLinearConcatOp : Onnx_MicrosoftOp<"QLinearConcat", -1> {
  let summary = "The result's scale and zero point come first";
  let arguments = (ins AnyTensor:$scale, AnyTensor:$zero_point,
                       Variadic<AnyTensor>:$inputs, I64Attr:$axis);
}
def Onnx_MicrosoftQGemmOp : Onnx_MicrosoftOp<"QGemm", 9, "2 one one 2 0|1 0|1 0|1|2 one one"> {
  let summary = "alpha * (A * B + C); optional operands: C of i32, of the "
                "product's scale; scale and zero point of the result";
  let arguments = (ins AnyTensor:$lhs, AnyTensor:$lhs_scale,
                       AnyTensor:$lhs_zero_point, AnyTensor:$rhs,
                       AnyTensor:$rhs_scale, AnyTensor:$rhs_zero_point,
                       Variadic<Onnx_Value>:$optional_inputs,
                       Onnx_Float<"1.0f">:$alpha, Onnx_Int<"0">:$transA,
                       Onnx_Int<"0">:$transB);
}
