//===- Experts.td - Mixtures of experts -----------------------------------===//

include "dialects/onnx/Onnx.td"

def Onnx_MixtureOfExpertsOp : Onnx_OwnOp<"MixtureOfExperts", ["multiplyAdds"]> {
  let extraClassDeclaration = Onnx_Structure<"mixture of experts">.declaration;
  let summary = "Each token through the experts that a router chose for it";
  let description = [{
        out[n] = sum over k of weights[n, k] * expert(tokens[n], indices[n, k])
        expert(x, e) = act(x up[e] + bias[e]) down[e]

    No op of ONNX: recovery and com.microsoft's MoE and QMoE make it. Tokens are
    n d, indices and weights n k, `up` e d h, `down` e f o, the optional bias e
    h; the result is n o.

    With `keeps_choices` the result is n k o: what is summed above stays apart, and
    what ranks with other experts have of a choice are zeros. None is negative, so
    that their sum is the choice itself, whatever the order.

    `gate` says what `act` does: "none" is activation(x), h = f; in "halves" and
    "interleaved" h = 2 f, the first half or each even element is the gate g,
    the rest u, and the result activation(min(g, limit)) * (clip(u) + shift),
    clip to [-limit, limit]. `activation` is silu (x sigmoid(alpha x)), gelu,
    gelu_tanh, relu or identity. With `operand_bits` = 16 both products may round
    their operands to bfloat16, and add up in f32.
  }];
  let arguments = (ins AnyTensor:$tokens, AnyTensor:$indices,
                       AnyTensor:$weights, AnyTensor:$up, AnyTensor:$down,
                       Variadic<AnyTensor>:$bias,
                       DefaultValuedAttr<StrAttr, "\"silu\"">:$activation,
                       DefaultValuedAttr<StrAttr, "\"none\"">:$gate,
                       DefaultValuedAttr<F32Attr, "1.0f">:$alpha,
                       DefaultValuedAttr<F32Attr, "0.0f">:$shift,
                       OptionalAttr<F32Attr>:$limit,
                       UnitAttr:$keeps_choices,
                       OptionalAttr<I64Attr>:$operand_bits);
  let results = (outs AnyTensor:$result);
}
