//===- Layout.td - The same elements, arranged differently ----------------===//

include "dialects/onnx/Onnx.td"

// `shape` and its like are gone after import: the result's dims say it.
class Onnx_LayoutOp<string opMnemonic, list<Trait> traits = []>
    : Onnx_OwnOp<opMnemonic, ["partialRule"], traits> {
  let arguments = (ins AnyTensor:$data, Variadic<Onnx_Value>:$shape_operands);
  let results = (outs AnyTensor:$result);
}

def Onnx_ReshapeOp : Onnx_LayoutOp<"Reshape", [FoldsKnown]> {
  let arguments = (ins AnyTensor:$data, Variadic<Onnx_Value>:$shape_operands,
                       DefaultValuedAttr<I64Attr, "0">:$allowzero);
}
def Onnx_ExpandOp : Onnx_LayoutOp<"Expand">;
def Onnx_TileOp : Onnx_LayoutOp<"Tile">;

def Onnx_TransposeOp : Onnx_OwnOp<"Transpose", ["partialRule"]> {
  let arguments = (ins AnyTensor:$data,
                       OptionalAttr<DenseI64ArrayAttr>:$perm);
  let results = (outs AnyTensor:$result);
  let extraClassDeclaration = [{
    /// Exchanges the last two dims and nothing else; perm is known after import.
    bool turnsMatrix();
  }];
}

def Onnx_ConcatOp : Onnx_OwnOp<"Concat", ["partialRule"], [FoldsKnown]> {
  let arguments = (ins Variadic<AnyTensor>:$inputs, I64Attr:$axis);
  let results = (outs AnyTensor:$result);
}

def Onnx_SplitOp : Onnx_OwnOp<"Split", ["partialRule"], [FoldsKnown]> {
  let extraClassDeclaration = Onnx_Ranks<"1+ 1">.declaration;
  let summary = "Sizes of the parts are the results' dims after import";
  let arguments = (ins AnyTensor:$data, Variadic<Onnx_Value>:$shape_operands,
                       DefaultValuedAttr<I64Attr, "0">:$axis,
                       OptionalAttr<DenseI64ArrayAttr>:$split,
                       OptionalAttr<I64Attr>:$num_outputs);
  let results = (outs Variadic<AnyTensor>:$parts);
}

def Onnx_SliceOp : Onnx_OwnOp<"Slice", ["partialRule"]> {
  let extraClassDeclaration = Onnx_Ranks<"1+ 1">.declaration;
  let summary = "Element start + i * step of each dim";
  let description = [{
    After import `bounds` holds a start for each dim; sizes are the result's
    dims. `steps` are constants.
  }];
  let arguments = (ins AnyTensor:$data, Variadic<Onnx_Value>:$shape_operands,
                       OptionalAttr<DenseI64ArrayAttr>:$starts,
                       OptionalAttr<DenseI64ArrayAttr>:$ends,
                       OptionalAttr<DenseI64ArrayAttr>:$axes,
                       OptionalAttr<Dist_DimsAttr>:$bounds,
                       OptionalAttr<DenseI64ArrayAttr>:$steps);
  let results = (outs AnyTensor:$result);
}

def Onnx_CastOp : Onnx_OwnOp<"Cast", ["partialRule"], [FoldsKnown]> {
  let summary = "`to` is ONNX's number of the type; the result's type says it";
  let arguments = (ins AnyTensor:$input, OptionalAttr<I64Attr>:$to,
                       DefaultValuedAttr<I64Attr, "1">:$saturate,
                       DefaultValuedAttr<StrAttr, "\"up\"">:$round_mode);
  let results = (outs AnyTensor:$result);
}

// These become Reshape, or their operand, at import.
class Onnx_AxesOp<string opMnemonic> : Onnx_ReplacedOp<opMnemonic> {
  let arguments = (ins AnyTensor:$data, Variadic<Onnx_Value>:$shape_operands,
                       OptionalAttr<DenseI64ArrayAttr>:$axes);
  let results = (outs AnyTensor:$result);
}
def Onnx_SqueezeOp : Onnx_AxesOp<"Squeeze">;
def Onnx_UnsqueezeOp : Onnx_AxesOp<"Unsqueeze">;
def Onnx_FlattenOp : Onnx_ReplacedOp<"Flatten"> {
  let arguments = (ins AnyTensor:$data, DefaultValuedAttr<I64Attr, "1">:$axis);
  let results = (outs AnyTensor:$result);
}
def Onnx_IdentityOp : Onnx_ReplacedOp<"Identity"> {
  let arguments = (ins AnyTensor:$data);
  let results = (outs AnyTensor:$result);
}
def Onnx_DropoutOp : Onnx_ReplacedOp<"Dropout"> {
  let extraClassDeclaration = Onnx_Ranks<"* one one">.declaration;
  let summary = "Identity at inference";
  let arguments = (ins AnyTensor:$data, Variadic<Onnx_Value>:$options,
                       OptionalAttr<I64Attr>:$seed, OptionalAttr<F32Attr>:$ratio);
  let results = (outs Variadic<AnyTensor>:$parts);
}
