//===- Normalization.td - com.microsoft: norms ----------------------------===//

include "dialects/onnx/ops/microsoft/Microsoft.td"

// ONNX Runtime's too, but it stands in ONNX's own domain.
def Onnx_SimplifiedLayerNormalizationOp
    : Onnx_ReplacedOp<"SimplifiedLayerNormalization"> {
  let arguments = (ins AnyTensor:$input, AnyTensor:$scale, Onnx_Int<"-1">:$axis,
                       Onnx_Float<"1e-5f">:$epsilon, Onnx_Int<"1">:$stash_type);
  let results = (outs Variadic<AnyTensor>:$parts);
}

def Onnx_MicrosoftSkipLayerNormalizationOp
    : Onnx_MicrosoftOp<"SkipLayerNormalization", 5, "2|3 2|3 1 1 1"> {
  let summary = "Norm of input + skip + bias, and that sum";
  let arguments = (ins AnyTensor:$input, AnyTensor:$skip, AnyTensor:$gamma,
                       Variadic<Onnx_Value>:$beta_and_bias,
                       Onnx_Float<"1e-12f">:$epsilon);
}
def Onnx_MicrosoftSkipSimplifiedLayerNormalizationOp
    : Onnx_MicrosoftOp<"SkipSimplifiedLayerNormalization", 4, "2|3 2|3 1 1"> {
  let summary = "RMS norm of input + skip + bias, and that sum";
  let arguments = (ins AnyTensor:$input, AnyTensor:$skip, AnyTensor:$gamma,
                       Variadic<Onnx_Value>:$bias,
                       Onnx_Float<"1e-12f">:$epsilon);
}

def Onnx_MicrosoftEmbedLayerNormalizationOp
    : Onnx_MicrosoftOp<"EmbedLayerNormalization", 9, "2 2 2 2 2 1 1 2 2"> {
  let summary = "Norm of word + position + segment rows, and mask lengths";
  let arguments = (ins AnyTensor:$input_ids, Onnx_Value:$segment_ids,
                       AnyTensor:$words, AnyTensor:$positions,
                       Onnx_Value:$segments, AnyTensor:$gamma, AnyTensor:$beta,
                       Variadic<Onnx_Value>:$mask_and_position_ids,
                       Onnx_Float<"1e-12f">:$epsilon,
                       Onnx_Int<"0">:$mask_index_type);
}
