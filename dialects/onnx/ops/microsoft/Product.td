//===- Product.td - com.microsoft: fused products -------------------------===//

include "dialects/onnx/ops/microsoft/Microsoft.td"

class Onnx_FusedMatMulLikeOp<string name>
    : Onnx_MicrosoftOp<name, 2, "1+ 1+"> {
  let summary = "alpha * A * B, either transposed first";
  let arguments = (ins AnyTensor:$lhs, AnyTensor:$rhs,
                       Onnx_Float<"1.0f">:$alpha, Onnx_Int<"0">:$transA,
                       Onnx_Int<"0">:$transB, Onnx_Int<"0">:$transBatchA,
                       Onnx_Int<"0">:$transBatchB);
}
def Onnx_MicrosoftFusedMatMulOp : Onnx_FusedMatMulLikeOp<"FusedMatMul">;
def Onnx_MicrosoftTransposeMatMulOp : Onnx_FusedMatMulLikeOp<"TransposeMatMul">;

def Onnx_MicrosoftFusedMatMulActivationOp
    : Onnx_MicrosoftOp<"FusedMatMulActivation", 2, "1+ 1+"> {
  let arguments = (ins AnyTensor:$lhs, AnyTensor:$rhs,
                       Onnx_Float<"1.0f">:$alpha, Onnx_Int<"0">:$transA,
                       Onnx_Int<"0">:$transB, Onnx_Int<"0">:$transBatchA,
                       Onnx_Int<"0">:$transBatchB, StrAttr:$activation,
                       Onnx_Int<"-1">:$activation_axis,
                       OptionalAttr<F32Attr>:$activation_alpha,
                       OptionalAttr<F32Attr>:$activation_beta,
                       OptionalAttr<F32Attr>:$activation_gamma);
}
def Onnx_MicrosoftFusedGemmOp : Onnx_MicrosoftOp<"FusedGemm", 3, "2 2 0|1|2"> {
  let arguments = (ins AnyTensor:$lhs, AnyTensor:$rhs,
                       Variadic<Onnx_Value>:$addend,
                       Onnx_Float<"1.0f">:$alpha, Onnx_Float<"1.0f">:$beta,
                       Onnx_Int<"0">:$transA, Onnx_Int<"0">:$transB,
                       Onnx_String<"">:$activation,
                       OptionalAttr<F32Attr>:$activation_alpha,
                       OptionalAttr<F32Attr>:$activation_beta,
                       OptionalAttr<F32Attr>:$activation_gamma);
}
def Onnx_MicrosoftFusedConvOp : Onnx_MicrosoftOp<"FusedConv", 4, "3+ 3+ 1 3+"> {
  let summary = "Conv, then the sum with `addend`, then an activation";
  let arguments = (ins AnyTensor:$input, AnyTensor:$filter,
                       Variadic<Onnx_Value>:$more,
                       Onnx_String<"NOTSET">:$auto_pad,
                       OptionalAttr<DenseI64ArrayAttr>:$dilations,
                       Onnx_Int<"1">:$group,
                       OptionalAttr<DenseI64ArrayAttr>:$kernel_shape,
                       OptionalAttr<DenseI64ArrayAttr>:$pads,
                       OptionalAttr<DenseI64ArrayAttr>:$strides,
                       Onnx_String<"">:$activation,
                       OptionalAttr<F32ArrayAttr>:$activation_params);
}
