//===- Quantization.td - com.microsoft: quantised weights -----------------===//

include "dialects/onnx/ops/microsoft/Microsoft.td"

def Onnx_MicrosoftMatMulNBitsOp : Onnx_MicrosoftOp<"MatMulNBits", 6, "1+ 2|3 1|2|3 1|2|3 1 1"> {
  let summary = "A times the transpose of weights in blocks of bits";
  let description = [{
    Operands: A [..., K], B ui8 [N, blocks, bytes of a block], scales
    [N, blocks], then optional: zero points, packed like B or numbers
    [N, blocks], g_idx, bias [N]. accuracy_level 4 allows A in 8 bits.
  }];
  let arguments = (ins AnyTensor:$input, AnyTensor:$weights, AnyTensor:$scales,
                       Variadic<Onnx_Value>:$optional_inputs, I64Attr:$K,
                       I64Attr:$N, Onnx_Int<"4">:$bits, I64Attr:$block_size,
                       Onnx_Int<"0">:$accuracy_level,
                       Onnx_Int<"0">:$weight_prepacked);
}

def Onnx_MicrosoftGatherBlockQuantizedOp
    : Onnx_MicrosoftOp<"GatherBlockQuantized", 4, "1+ * 1+ 1+"> {
  let summary = "Rows of a table in blocks of bits, as numbers";
  let arguments = (ins AnyTensor:$data, AnyTensor:$indices, AnyTensor:$scales,
                       Variadic<Onnx_Value>:$zero_points,
                       Onnx_Int<"4">:$bits, Onnx_Int<"128">:$block_size,
                       Onnx_Int<"0">:$gather_axis,
                       Onnx_Int<"1">:$quantize_axis);
}

def Onnx_MicrosoftDynamicQuantizeMatMulOp
    : Onnx_MicrosoftOp<"DynamicQuantizeMatMul", 5, "1+ 1+ * * 1"> {
  let summary = "Optional operands: zero point of B, bias";
  let arguments = (ins AnyTensor:$lhs, AnyTensor:$rhs, AnyTensor:$rhs_scale,
                       Variadic<Onnx_Value>:$optional_inputs);
}
def Onnx_MicrosoftMatMulIntegerToFloatOp
    : Onnx_MicrosoftOp<"MatMulIntegerToFloat", 7, "1+ 1+ one * one * 1"> {
  let summary = "Optional operands: zero points of A and B, bias";
  let arguments = (ins AnyTensor:$lhs, AnyTensor:$rhs, AnyTensor:$lhs_scale,
                       AnyTensor:$rhs_scale,
                       Variadic<Onnx_Value>:$optional_inputs);
}

class Onnx_ScaledOp<string name> : Onnx_MicrosoftOp<name, 3> {
  let summary = "As ONNX's; these came first for 16 bits";
  let arguments = (ins AnyTensor:$input, AnyTensor:$scale,
                       Variadic<Onnx_Value>:$zero_point, Onnx_Int<"1">:$axis,
                       Onnx_Int<"0">:$block_size);
}
def Onnx_MicrosoftQuantizeLinearOp : Onnx_ScaledOp<"QuantizeLinear">;
def Onnx_MicrosoftDequantizeLinearOp : Onnx_ScaledOp<"DequantizeLinear">;
