//===- Replaced.td - Ops that import makes of others ----------------------===//

include "dialects/onnx/Onnx.td"

class Onnx_ReplacedUnaryOp<string opMnemonic>
    : Onnx_ReplacedOp<opMnemonic> {
  let arguments = (ins AnyTensor:$input);
  let results = (outs AnyTensor:$result);
}

def Onnx_EinsumOp : Onnx_ReplacedOp<"Einsum"> {
  let arguments = (ins Variadic<AnyTensor>:$inputs, StrAttr:$equation);
  let results = (outs AnyTensor:$result);
}
def Onnx_MeanOp : Onnx_ReplacedOp<"Mean"> {
  let arguments = (ins Variadic<AnyTensor>:$inputs);
  let results = (outs AnyTensor:$result);
}
def Onnx_HardmaxOp : Onnx_ReplacedUnaryOp<"Hardmax"> {
  let arguments = (ins AnyTensor:$input, DefaultValuedAttr<I64Attr, "-1">:$axis);
}
def Onnx_EyeLikeOp : Onnx_ReplacedUnaryOp<"EyeLike"> {
  let arguments = (ins AnyTensor:$input, OptionalAttr<I64Attr>:$dtype,
                       DefaultValuedAttr<I64Attr, "0">:$k);
}

def Onnx_ShrinkOp : Onnx_ReplacedUnaryOp<"Shrink"> {
  let arguments = (ins AnyTensor:$input,
                       DefaultValuedAttr<F32Attr, "0.0f">:$bias,
                       DefaultValuedAttr<F32Attr, "0.5f">:$lambd);
}

def Onnx_CeluOp : Onnx_ReplacedOp<"Celu"> {
  let summary = "alpha * Elu(x / alpha)";
  let arguments = (ins AnyTensor:$input,
                       DefaultValuedAttr<F32Attr, "1.0f">:$alpha);
  let results = (outs AnyTensor:$result);
}
def Onnx_SeluOp : Onnx_ReplacedOp<"Selu"> {
  let summary = "gamma * Elu(x)";
  let arguments = (ins AnyTensor:$input,
                       DefaultValuedAttr<F32Attr, "1.67326319f">:$alpha,
                       DefaultValuedAttr<F32Attr, "1.05070102f">:$gamma);
  let results = (outs AnyTensor:$result);
}
def Onnx_ThresholdedReluOp : Onnx_ReplacedOp<"ThresholdedRelu"> {
  let summary = "x where it is above alpha, else 0";
  let arguments = (ins AnyTensor:$input,
                       DefaultValuedAttr<F32Attr, "1.0f">:$alpha);
  let results = (outs AnyTensor:$result);
}

// Has a body in ONNX from opset 18 on only.
def Onnx_ReduceLogSumOp : Onnx_ReplacedOp<"ReduceLogSum"> {
  let summary = "Log(ReduceSum)";
  let arguments = (ins AnyTensor:$data, Variadic<Onnx_Value>:$shape_operands,
                       OptionalAttr<DenseI64ArrayAttr>:$axes,
                       DefaultValuedAttr<I64Attr, "1">:$keepdims,
                       DefaultValuedAttr<I64Attr, "0">:$noop_with_empty_axes);
  let results = (outs AnyTensor:$result);
}

// Norms over images and channels.
def Onnx_LpNormalizationOp : Onnx_ReplacedUnaryOp<"LpNormalization"> {
  let arguments = (ins AnyTensor:$input, DefaultValuedAttr<I64Attr, "-1">:$axis,
                       DefaultValuedAttr<I64Attr, "2">:$p);
}
def Onnx_LRNOp : Onnx_ReplacedUnaryOp<"LRN"> {
  let arguments = (ins AnyTensor:$input, I64Attr:$size,
                       DefaultValuedAttr<F32Attr, "0.0001f">:$alpha,
                       DefaultValuedAttr<F32Attr, "0.75f">:$beta,
                       DefaultValuedAttr<F32Attr, "1.0f">:$bias);
}
def Onnx_BatchNormalizationOp : Onnx_ReplacedOp<"BatchNormalization"> {
  let extraClassDeclaration = Onnx_Ranks<"1+ 1 1 1 1">.declaration;
  let arguments = (ins AnyTensor:$input, AnyTensor:$scale, AnyTensor:$bias,
                       AnyTensor:$mean, AnyTensor:$variance,
                       DefaultValuedAttr<F32Attr, "1e-5f">:$epsilon,
                       DefaultValuedAttr<F32Attr, "0.9f">:$momentum,
                       DefaultValuedAttr<I64Attr, "0">:$training_mode);
  let results = (outs Variadic<AnyTensor>:$parts);
}
def Onnx_InstanceNormalizationOp : Onnx_ReplacedOp<"InstanceNormalization"> {
  let extraClassDeclaration = Onnx_Ranks<"3+ 1 1">.declaration;
  let arguments = (ins AnyTensor:$input, AnyTensor:$scale, AnyTensor:$bias,
                       DefaultValuedAttr<F32Attr, "1e-5f">:$epsilon);
  let results = (outs AnyTensor:$result);
}

// Convolution the other way round.
def Onnx_ConvTransposeOp : Onnx_ReplacedOp<"ConvTranspose"> {
  let extraClassDeclaration = Onnx_Ranks<"3+ 3+ 1">.declaration;
  let arguments = (ins AnyTensor:$input, AnyTensor:$filter,
                       Variadic<Onnx_Value>:$bias,
                       DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
                       OptionalAttr<DenseI64ArrayAttr>:$dilations,
                       DefaultValuedAttr<I64Attr, "1">:$group,
                       OptionalAttr<DenseI64ArrayAttr>:$kernel_shape,
                       OptionalAttr<DenseI64ArrayAttr>:$output_padding,
                       OptionalAttr<DenseI64ArrayAttr>:$output_shape,
                       OptionalAttr<DenseI64ArrayAttr>:$pads,
                       OptionalAttr<DenseI64ArrayAttr>:$strides);
  let results = (outs AnyTensor:$result);
}
def Onnx_Col2ImOp : Onnx_ReplacedOp<"Col2Im"> {
  let extraClassDeclaration = Onnx_Ranks<"3 1 1">.declaration;
  let arguments = (ins AnyTensor:$input, Variadic<Onnx_Value>:$shape_operands,
                       OptionalAttr<DenseI64ArrayAttr>:$dilations,
                       OptionalAttr<DenseI64ArrayAttr>:$pads,
                       OptionalAttr<DenseI64ArrayAttr>:$strides);
  let results = (outs AnyTensor:$result);
}

def Onnx_DepthToSpaceOp : Onnx_ReplacedUnaryOp<"DepthToSpace"> {
  let arguments = (ins AnyTensor:$input, I64Attr:$blocksize,
                       DefaultValuedAttr<StrAttr, "\"DCR\"">:$mode);
}
def Onnx_SpaceToDepthOp : Onnx_ReplacedUnaryOp<"SpaceToDepth"> {
  let arguments = (ins AnyTensor:$input, I64Attr:$blocksize,
                       DefaultValuedAttr<StrAttr, "\"DCR\"">:$mode);
}

def Onnx_DFTOp : Onnx_ReplacedOp<"DFT"> {
  let extraClassDeclaration = Onnx_Ranks<"2+ one one">.declaration;
  let arguments = (ins AnyTensor:$input, Variadic<Onnx_Value>:$shape_operands,
                       OptionalAttr<I64Attr>:$axis,
                       DefaultValuedAttr<I64Attr, "0">:$inverse,
                       DefaultValuedAttr<I64Attr, "0">:$onesided);
  let results = (outs AnyTensor:$result);
}
def Onnx_STFTOp : Onnx_ReplacedOp<"STFT"> {
  let extraClassDeclaration = Onnx_Ranks<"3 one 1 one">.declaration;
  let arguments = (ins AnyTensor:$signal, Variadic<Onnx_Value>:$others,
                       DefaultValuedAttr<I64Attr, "1">:$onesided);
  let results = (outs AnyTensor:$result);
}
def Onnx_AffineGridOp : Onnx_ReplacedOp<"AffineGrid"> {
  let extraClassDeclaration = Onnx_Ranks<"3 1">.declaration;
  let arguments = (ins AnyTensor:$theta, Variadic<Onnx_Value>:$shape_operands,
                       DefaultValuedAttr<I64Attr, "0">:$align_corners);
  let results = (outs AnyTensor:$result);
}

// Places along one dim that data chooses.
def Onnx_ReverseSequenceOp : Onnx_ReplacedOp<"ReverseSequence"> {
  let extraClassDeclaration = Onnx_Ranks<"2+ 1">.declaration;
  let arguments = (ins AnyTensor:$input, AnyTensor:$lengths,
                       DefaultValuedAttr<I64Attr, "1">:$batch_axis,
                       DefaultValuedAttr<I64Attr, "0">:$time_axis);
  let results = (outs AnyTensor:$result);
}
def Onnx_TensorScatterOp : Onnx_ReplacedOp<"TensorScatter"> {
  let summary = "Writes new rows of a cache";
  let arguments = (ins AnyTensor:$cache, AnyTensor:$update,
                       Variadic<Onnx_Value>:$places,
                       DefaultValuedAttr<I64Attr, "-2">:$axis,
                       DefaultValuedAttr<StrAttr, "\"linear\"">:$mode);
  let results = (outs AnyTensor:$result);
}

// A sequence is no value of a program: shape inference knows which tensors it
// holds, and whoever takes one out uses that tensor. Positions must be known.
class Onnx_SequenceOp<string opMnemonic, list<Trait> traits = []>
    : Onnx_ReplacedOp<opMnemonic, traits> {
  let results = (outs AnyTensor:$result);
}

def Onnx_SequenceEmptyOp : Onnx_SequenceOp<"SequenceEmpty"> {
  let arguments = (ins OptionalAttr<I64Attr>:$dtype);
}
def Onnx_SequenceConstructOp : Onnx_SequenceOp<"SequenceConstruct"> {
  let arguments = (ins Variadic<AnyTensor>:$inputs);
}
def Onnx_SequenceInsertOp : Onnx_SequenceOp<"SequenceInsert", [Onnx_TakesSequences]> {
  let summary = "Before `position`, at the end without one";
  let arguments = (ins AnyTensor:$sequence, AnyTensor:$tensor,
                       Variadic<Onnx_Value>:$position);
}
def Onnx_SequenceEraseOp : Onnx_SequenceOp<"SequenceErase", [Onnx_TakesSequences]> {
  let arguments = (ins AnyTensor:$sequence, Variadic<Onnx_Value>:$position);
}
def Onnx_SequenceAtOp : Onnx_SequenceOp<"SequenceAt", [Onnx_TakesSequences]> {
  let arguments = (ins AnyTensor:$sequence, AnyTensor:$position);
}
def Onnx_SequenceLengthOp : Onnx_SequenceOp<"SequenceLength", [Onnx_TakesSequences]> {
  let arguments = (ins AnyTensor:$sequence);
}
def Onnx_SplitToSequenceOp : Onnx_SequenceOp<"SplitToSequence"> {
  let extraClassDeclaration = Onnx_Ranks<"1+ 0|1">.declaration;
  let summary = "Rows of `axis` without it, or parts of sizes `split`";
  let arguments = (ins AnyTensor:$input, Variadic<Onnx_Value>:$split,
                       DefaultValuedAttr<I64Attr, "0">:$axis,
                       DefaultValuedAttr<I64Attr, "1">:$keepdims);
}
def Onnx_ConcatFromSequenceOp : Onnx_SequenceOp<"ConcatFromSequence", [Onnx_TakesSequences]> {
  let arguments = (ins AnyTensor:$sequence, I64Attr:$axis,
                       DefaultValuedAttr<I64Attr, "0">:$new_axis);
}

// Of tensors, which always are there.
def Onnx_OptionalGetElementOp : Onnx_SequenceOp<"OptionalGetElement", [Onnx_TakesSequences]> {
  let arguments = (ins AnyTensor:$input);
}
