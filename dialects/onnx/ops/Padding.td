//===- Padding.td - Borders around a tensor -------------------------------===//

include "dialects/onnx/Onnx.td"

def Onnx_PadOp : Onnx_OwnOp<"Pad"> {
  let extraClassDeclaration = Onnx_Ranks<"* 1 one 1">.declaration;
  let summary = "Constant, reflected, edge or wrapped borders";
  let description = [{
    After import `bounds` holds a begin and then an end for each dim, negative
    where elements are cut off; the second operand is the constant, if any.
  }];
  let arguments = (ins AnyTensor:$data, Variadic<Onnx_Value>:$shape_operands,
                       DefaultValuedAttr<StrAttr, "\"constant\"">:$mode,
                       OptionalAttr<DenseI64ArrayAttr>:$pads,
                       OptionalAttr<F32Attr>:$value,
                       OptionalAttr<Dist_DimsAttr>:$bounds);
  let results = (outs AnyTensor:$result);
}
