//===- Resampling.td - Images at other positions --------------------------===//

include "dialects/onnx/Onnx.td"

// A product with the matrix of its weights for each dim that changes, or Gather.
// With two operands it is that of opset 10, or Upsample: positions are those of
// `asymmetric`, and the nearest element is the one before when growing, the one
// behind when shrinking.
def Onnx_ResizeOp : Onnx_ReplacedOp<"Resize"> {
  let extraClassDeclaration = Onnx_Ranks<"* 1 1 1">.declaration;
  let arguments = (ins
      AnyTensor:$input, Variadic<Onnx_Value>:$shape_operands,
      DefaultValuedAttr<I64Attr, "0">:$antialias,
      OptionalAttr<DenseI64ArrayAttr>:$axes,
      DefaultValuedAttr<StrAttr, "\"half_pixel\"">
          :$coordinate_transformation_mode,
      DefaultValuedAttr<F32Attr, "-0.75f">:$cubic_coeff_a,
      DefaultValuedAttr<I64Attr, "0">:$exclude_outside,
      DefaultValuedAttr<F32Attr, "0.0f">:$extrapolation_value,
      DefaultValuedAttr<StrAttr, "\"stretch\"">:$keep_aspect_ratio_policy,
      DefaultValuedAttr<StrAttr, "\"nearest\"">:$mode,
      DefaultValuedAttr<StrAttr, "\"round_prefer_floor\"">:$nearest_mode);
  let results = (outs AnyTensor:$result);
}
// Resize before opset 10; before opset 9 its scales were an attribute.
def Onnx_UpsampleOp : Onnx_ReplacedOp<"Upsample"> {
  let extraClassDeclaration = Onnx_Ranks<"* 1">.declaration;
  let arguments = (ins AnyTensor:$input, Variadic<Onnx_Value>:$scales_operand,
                       OptionalAttr<F32ArrayAttr>:$scales,
                       DefaultValuedAttr<StrAttr, "\"nearest\"">:$mode);
  let results = (outs AnyTensor:$result);
}

def Onnx_GridSampleOp : Onnx_OwnOp<"GridSample"> {
  let extraClassDeclaration = Onnx_Ranks<"3+ 3+">.declaration;
  let summary = "n c image..., n points... d -> n c points...";
  let arguments = (ins AnyTensor:$input, AnyTensor:$grid,
                       DefaultValuedAttr<I64Attr, "0">:$align_corners,
                       DefaultValuedAttr<StrAttr, "\"linear\"">:$mode,
                       DefaultValuedAttr<StrAttr, "\"zeros\"">:$padding_mode);
  let results = (outs AnyTensor:$result);
}
