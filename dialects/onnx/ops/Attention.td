//===- Attention.td - Attention and rotary embedding ----------------------===//

include "dialects/onnx/Onnx.td"

def Onnx_AttentionOp : Onnx_OwnOp<"Attention", ["multiplyAdds", "takes"]> {
  let extraClassDeclaration = Onnx_Structure<"attention">.declaration #
                              Onnx_Ranks<"3|4 3|4 3|4 * 4 4 1 *">.declaration;
  let summary = "softmax(scale * Q K^T + mask) V, 4-D operands";
  let description = [{
    b h s d, b kv t d, b kv t e, mask -> b h s e; h is a multiple of kv. Head
    counts are dims: the 3-D form with q_num_heads becomes Reshape + Transpose
    at import.

    Beyond ONNX, which recovery makes use of: `causal_offset` is the number of
    keys before the first query (default 0); `window`, if not 0, how many keys
    a causal query sees at most; `zero_rows` which rows of the softmax are zero
    instead: those that see no key ("hidden"), all that are NaN ("nan") or none
    ("none"). Operand 7, sinks of [h], is one more score for each query of a
    head, with no value: it only takes its share. With `operand_bits` = 16 both
    products may round their operands to bfloat16.
  }];
  let arguments = (ins AnyTensor:$query, AnyTensor:$key, AnyTensor:$value,
                       Variadic<Onnx_Value>:$optional_inputs,
                       DefaultValuedAttr<I64Attr, "0">:$is_causal,
                       OptionalAttr<I64Attr>:$q_num_heads,
                       OptionalAttr<I64Attr>:$kv_num_heads,
                       DefaultValuedAttr<I64Attr, "0">:$qk_matmul_output_mode,
                       OptionalAttr<F32Attr>:$scale,
                       DefaultValuedAttr<F32Attr, "0.0f">:$softcap,
                       OptionalAttr<I64Attr>:$softmax_precision,
                       OptionalAttr<Dist_DimsAttr>:$causal_offset,
                       DefaultValuedAttr<I64Attr, "0">:$window,
                       DefaultValuedAttr<StrAttr, "\"hidden\"">:$zero_rows,
                       OptionalAttr<I64Attr>:$operand_bits);
  let results = (outs Variadic<AnyTensor>:$parts);
}

def Onnx_RotaryEmbeddingOp : Onnx_OwnOp<"RotaryEmbedding"> {
  let extraClassDeclaration = Onnx_Structure<"rotary embedding">.declaration #
                              Onnx_Ranks<"3|4 2|3 2|3 2">.declaration;
  let summary = "b h s d with cos and sin of b s r/2";
  let arguments = (ins AnyTensor:$input, AnyTensor:$cos_cache,
                       AnyTensor:$sin_cache, Variadic<Onnx_Value>:$position_ids,
                       DefaultValuedAttr<I64Attr, "0">:$interleaved,
                       DefaultValuedAttr<I64Attr, "0">:$num_heads,
                       DefaultValuedAttr<I64Attr, "0">:$rotary_embedding_dim);
  let results = (outs AnyTensor:$result);
}
