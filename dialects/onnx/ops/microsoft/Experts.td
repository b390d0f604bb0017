//===- Experts.td - com.microsoft: mixtures of experts --------------------===//

include "dialects/onnx/ops/microsoft/Microsoft.td"

class Onnx_ExpertsOp<string name, int operands, string ranks,
                     dag more = (ins)>
    : Onnx_MicrosoftOp<name, operands, ranks> {
  dag routing = (ins AnyTensor:$input, AnyTensor:$router_probs,
                     Variadic<Onnx_Value>:$experts, Onnx_Int<"1">:$k,
                     Onnx_String<"relu">:$activation_type,
                     Onnx_Float<"1.0f">:$activation_alpha,
                     Onnx_Float<"0.0f">:$activation_beta,
                     Onnx_Int<"0">:$normalize_routing_weights,
                     Onnx_Int<"0">:$use_sparse_mixer,
                     Onnx_Int<"0">:$swiglu_fusion,
                     OptionalAttr<F32Attr>:$swiglu_limit);
  let arguments = !con(routing, more);
}

def Onnx_MicrosoftMoEOp : Onnx_ExpertsOp<"MoE", 8, "2|3 2 3 2 3 2 3 2"> {
  let summary = "The k best of E networks for each token, weighted";
  let description = [{
    Operands: input [tokens, h] or [b, s, h], router_probs [tokens, E], then
    weights and bias of fc1 [E, n, h], fc2 [E, h, n] and, optional, fc3.
  }];
}
def Onnx_MicrosoftQMoEOp
    : Onnx_ExpertsOp<"QMoE", 15, "2|3 2 3 2|3 2 3 2|3 2 3 2|3 2 *",
                     (ins Onnx_Int<"4">:$expert_weight_bits,
                          OptionalAttr<I64Attr>:$fc1_expert_weight_bits,
                          OptionalAttr<I64Attr>:$fc2_expert_weight_bits,
                          OptionalAttr<I64Attr>:$fc3_expert_weight_bits,
                          Onnx_Int<"0">:$block_size,
                          Onnx_String<"int">:$quant_type,
                          Onnx_Int<"0">:$accuracy_level,
                          Onnx_Int<"-1">:$weights_prepacked)> {
  let summary = "MoE with quantised weights";
  let description = [{
    Operands: input, router_probs, then weights, scales and bias of fc1, fc2 and
    fc3, their zero points, router_weights.
  }];
}
