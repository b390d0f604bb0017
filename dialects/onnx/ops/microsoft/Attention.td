//===- Attention.td - com.microsoft: attention and rotary embedding -------===//

include "dialects/onnx/ops/microsoft/Microsoft.td"

def Onnx_MicrosoftRotaryEmbeddingOp : Onnx_MicrosoftOp<"RotaryEmbedding", 4, "3|4 1|2 2 2"> {
  let summary = "Positions are [1], of the first token, or [b, s]";
  let arguments = (ins AnyTensor:$input, AnyTensor:$position_ids,
                       AnyTensor:$cos_cache, AnyTensor:$sin_cache,
                       Onnx_Int<"0">:$interleaved, Onnx_Int<"0">:$num_heads,
                       Onnx_Int<"0">:$rotary_embedding_dim,
                       Onnx_Int<"0">:$is_packed_batching,
                       Onnx_Float<"1.0f">:$scale);
}

def Onnx_MicrosoftAttentionOp : Onnx_MicrosoftOp<"Attention", 7, "3 2 1 1|2|3|4 5 4 one"> {
  let summary = "Attention with its projection to q | k | v";
  let description = [{
    Operands: input [b, s, h], weights [h, q | k | v], then optional: bias,
    mask_index, past [2, b, n, p, d], attention_bias, past_sequence_length.
    Results: output [b, s, v], present.
  }];
  let arguments = (ins AnyTensor:$input, AnyTensor:$weights,
                       Variadic<Onnx_Value>:$optional_inputs,
                       I64Attr:$num_heads, Onnx_Int<"0">:$unidirectional,
                       OptionalAttr<DenseI64ArrayAttr>:$qkv_hidden_sizes,
                       Onnx_Float<"0.0f">:$scale,
                       Onnx_Float<"-10000.0f">:$mask_filter_value,
                       Onnx_Int<"0">:$do_rotary,
                       Onnx_Int<"0">:$rotary_embedding_dim,
                       Onnx_Int<"0">:$past_present_share_buffer);
}

def Onnx_MicrosoftQAttentionOp : Onnx_MicrosoftOp<"QAttention", 9, "3 2 1 one 0|1 1|2|3|4 one 0|1 5"> {
  let summary = "Attention whose projection is a product of integers";
  let description = [{
    Operands behind the scales, all optional: mask_index, zero points of input
    and weights, past [2, b, n, p, d]. Results: output [b, s, v], present.
  }];
  let arguments = (ins AnyTensor:$input, AnyTensor:$weights, AnyTensor:$bias,
                       AnyTensor:$input_scale, AnyTensor:$weights_scale,
                       Variadic<Onnx_Value>:$optional_inputs,
                       I64Attr:$num_heads, Onnx_Int<"0">:$unidirectional,
                       Onnx_Float<"0.0f">:$scale,
                       Onnx_Float<"-10000.0f">:$mask_filter_value,
                       Onnx_Int<"0">:$do_rotary,
                       Onnx_Int<"0">:$past_present_share_buffer);
}

def Onnx_MicrosoftMultiHeadAttentionOp
    : Onnx_MicrosoftOp<"MultiHeadAttention", 10, "3|5 3|4|5 3|4 1 1|2|3 4 4 4 one 3"> {
  let summary = "Attention of projected operands in one of several layouts";
  let description = [{
    Operands: query, then optional: key, value, bias, key_padding_mask,
    attention_bias, past_key, past_value, past_sequence_length,
    cache_indirection. Results: output, present_key, present_value, qk.
  }];
  let arguments = (ins AnyTensor:$query, Variadic<Onnx_Value>:$optional_inputs,
                       I64Attr:$num_heads, Onnx_Int<"0">:$unidirectional,
                       Onnx_Float<"0.0f">:$scale,
                       Onnx_Float<"-10000.0f">:$mask_filter_value);
}

def Onnx_MicrosoftGroupQueryAttentionOp
    : Onnx_MicrosoftOp<"GroupQueryAttention", 16, "3 3|4 3|4 4 4 1|2 one 2 2 2 4 1 *"> {
  let summary = "Causal attention with a cache whose rows differ in length";
  let description = [{
    Operands: query (or packed q | k | v), key, value, past_key, past_value,
    seqlens_k, total_sequence_length, then optional: cos_cache, sin_cache,
    position_ids, attention_bias, head_sink, k_scale, v_scale, q_norm_weight,
    k_norm_weight. Results: output, present_key, present_value, output_qk.
  }];
  let arguments = (ins AnyTensor:$query, Variadic<Onnx_Value>:$optional_inputs,
                       I64Attr:$num_heads, I64Attr:$kv_num_heads,
                       Onnx_Float<"0.0f">:$scale, Onnx_Float<"0.0f">:$softcap,
                       Onnx_Int<"-1">:$local_window_size,
                       Onnx_Int<"0">:$do_rotary,
                       Onnx_Int<"0">:$rotary_interleaved,
                       Onnx_Int<"-1">:$smooth_softmax,
                       Onnx_Int<"1">:$causal, Onnx_Int<"0">:$qk_output,
                       Onnx_Int<"0">:$sliding_window_cache,
                       Onnx_Int<"0">:$kv_cache_bit_width,
                       Onnx_String<"NONE">:$k_quant_type,
                       Onnx_String<"NONE">:$v_quant_type,
                       Onnx_Float<"1e-6f">:$qk_norm_epsilon);
}
