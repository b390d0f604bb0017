//===- Contraction.td - Matrix products and convolutions ------------------===//

include "dialects/onnx/Onnx.td"

// With `operand_bits` = 16, which no file has, a product may round its operands
// to bfloat16; it adds up in f32, and has a result of the type that it had.

def Onnx_MatMulOp : Onnx_OwnOp<"MatMul", ["partialRule", "multiplyAdds"]> {
  let extraClassDeclaration = Onnx_Ranks<"1+ 1+">.declaration;
  let summary = "... m k, ... k n -> ... m n";
  let arguments = (ins AnyTensor:$lhs, AnyTensor:$rhs,
                       OptionalAttr<I64Attr>:$operand_bits);
  let results = (outs AnyTensor:$result);
}

def Onnx_GemmOp : Onnx_OwnOp<"Gemm", ["partialRule", "multiplyAdds"]> {
  let extraClassDeclaration = Onnx_Ranks<"2 2 0|1|2">.declaration;
  let summary = "alpha * A * B + beta * C; C is added once";
  let arguments = (ins AnyTensor:$lhs, AnyTensor:$rhs,
                       Variadic<Onnx_Value>:$addend,
                       DefaultValuedAttr<F32Attr, "1.0f">:$alpha,
                       DefaultValuedAttr<F32Attr, "1.0f">:$beta,
                       DefaultValuedAttr<I64Attr, "0">:$transA,
                       DefaultValuedAttr<I64Attr, "0">:$transB,
                       OptionalAttr<I64Attr>:$operand_bits);
  let results = (outs AnyTensor:$result);
}

def Onnx_ConvOp : Onnx_OwnOp<"Conv", ["partialRule", "multiplyAdds"]> {
  let extraClassDeclaration = Onnx_Structure<"convolution", 0>.declaration #
                              Onnx_Ranks<"3+ 3+ 1">.declaration;
  let summary = "b c ..., o c ... -> b o ...; auto_pad becomes pads at import";
  let arguments = (ins AnyTensor:$input, AnyTensor:$filter,
                       Variadic<Onnx_Value>:$bias,
                       DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
                       OptionalAttr<DenseI64ArrayAttr>:$dilations,
                       DefaultValuedAttr<I64Attr, "1">:$group,
                       OptionalAttr<DenseI64ArrayAttr>:$kernel_shape,
                       OptionalAttr<DenseI64ArrayAttr>:$pads,
                       OptionalAttr<DenseI64ArrayAttr>:$strides);
  let results = (outs AnyTensor:$result);
}
