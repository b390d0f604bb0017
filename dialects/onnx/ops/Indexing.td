//===- Indexing.td - Elements chosen by data ------------------------------===//

include "dialects/onnx/Onnx.td"

def Onnx_GatherOp : Onnx_OwnOp<"Gather", ["partialRule"], [FoldsKnown]> {
  let extraClassDeclaration = Onnx_Ranks<"1+ *">.declaration;
  let summary = "Rows of a table; the table's rows may be split (lookup)";
  let arguments = (ins AnyTensor:$data, AnyTensor:$indices,
                       DefaultValuedAttr<I64Attr, "0">:$axis);
  let results = (outs AnyTensor:$result);
}
def Onnx_GatherElementsOp : Onnx_OwnOp<"GatherElements", [], [], "lowerIndexing"> {
  let extraClassDeclaration = Onnx_Ranks<"1+ 1+">.declaration;
  let arguments = (ins AnyTensor:$data, AnyTensor:$indices,
                       DefaultValuedAttr<I64Attr, "0">:$axis);
  let results = (outs AnyTensor:$result);
}
def Onnx_GatherNDOp : Onnx_OwnOp<"GatherND", ["partialRule"], [], "lowerIndexing"> {
  let extraClassDeclaration = Onnx_Ranks<"1+ 1+">.declaration;
  let arguments = (ins AnyTensor:$data, AnyTensor:$indices,
                       DefaultValuedAttr<I64Attr, "0">:$batch_dims);
  let results = (outs AnyTensor:$result);
}
def Onnx_ScatterElementsOp
    : Onnx_OwnOp<"ScatterElements", [], [FoldsKnown], "lowerIndexing"> {
  let extraClassDeclaration = Onnx_Ranks<"1+ 1+ 1+">.declaration;
  let arguments = (ins AnyTensor:$data, AnyTensor:$indices, AnyTensor:$updates,
                       DefaultValuedAttr<I64Attr, "0">:$axis,
                       DefaultValuedAttr<StrAttr, "\"none\"">:$reduction);
  let results = (outs AnyTensor:$result);
}
def Onnx_ScatterNDOp : Onnx_OwnOp<"ScatterND", [], [], "lowerIndexing"> {
  let extraClassDeclaration = Onnx_Ranks<"1+ 1+ *">.declaration;
  let arguments = (ins AnyTensor:$data, AnyTensor:$indices, AnyTensor:$updates,
                       DefaultValuedAttr<StrAttr, "\"none\"">:$reduction);
  let results = (outs AnyTensor:$result);
}
// The name of ScatterElements before opset 11.
def Onnx_ScatterOp : Onnx_ReplacedOp<"Scatter"> {
  let extraClassDeclaration = Onnx_Ranks<"1+ 1+ 1+">.declaration;
  let arguments = (ins AnyTensor:$data, AnyTensor:$indices, AnyTensor:$updates,
                       DefaultValuedAttr<I64Attr, "0">:$axis);
  let results = (outs AnyTensor:$result);
}
def Onnx_OneHotOp : Onnx_ReplacedOp<"OneHot"> {
  let extraClassDeclaration = Onnx_Ranks<"* one 1">.declaration;
  let summary = "Equal with a Range, and Where";
  let arguments = (ins AnyTensor:$indices, AnyTensor:$depth, AnyTensor:$values,
                       DefaultValuedAttr<I64Attr, "-1">:$axis);
  let results = (outs AnyTensor:$result);
}
def Onnx_TopKOp : Onnx_OwnOp<"TopK", [], [], "lowerIndexing"> {
  let extraClassDeclaration = Onnx_Ranks<"1+ one">.declaration;
  let summary = "k is the results' dim after import; an attribute before "
                "opset 10";
  let arguments = (ins AnyTensor:$data, Variadic<Onnx_Value>:$shape_operands,
                       DefaultValuedAttr<I64Attr, "-1">:$axis,
                       OptionalAttr<I64Attr>:$k,
                       DefaultValuedAttr<I64Attr, "1">:$largest,
                       DefaultValuedAttr<I64Attr, "1">:$sorted);
  let results = (outs AnyTensor:$values, AnyTensor:$indices);
}
def Onnx_TriluOp : Onnx_OwnOp<"Trilu", ["partialRule"], [], "lowerIndexing"> {
  let extraClassDeclaration = Onnx_Ranks<"2+ one">.declaration;
  let arguments = (ins AnyTensor:$data, Variadic<Onnx_Value>:$shape_operands,
                       DefaultValuedAttr<I64Attr, "1">:$upper,
                       OptionalAttr<Dist_DimsAttr>:$bounds);
  let results = (outs AnyTensor:$result);
}
