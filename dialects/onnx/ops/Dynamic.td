//===- Dynamic.td - Sizes that only the data knows ------------------------===//

include "dialects/onnx/Onnx.td"

def Onnx_ReadSizesOp
    : Op<Onnx_Dialect, "ReadSizes", [DeclareOpInterfaceMethods<OnnxOp>,
                                    DeclareOpInterfaceMethods<LowerableOp>]> {
  let summary = "Binds symbols to the elements of a small integer tensor";
  let description = [{
        onnx.ReadSizes(%count) {sizes = #dist.dims<["/NonZero.size"]>}

    Ops after it may have the symbol in their types. The host waits here once a
    run, until the elements are there; each must be at least 0. Where `sizes`
    holds an expression instead of a symbol of its own, the element must equal
    it.
  }];
  let arguments = (ins AnyTensor:$data, Dist_DimsAttr:$sizes);
  let assemblyFormat = "operands attr-dict `:` type($data)";
}

def Onnx_NonZeroOp : Onnx_OwnOp<"NonZero"> {
  let summary = "Indices of the elements that are not 0: rank x count";
  let arguments = (ins AnyTensor:$data);
  let results = (outs AnyTensor:$result);
}

def Onnx_CompressOp : Onnx_ReplacedOp<"Compress"> {
  let extraClassDeclaration = Onnx_Ranks<"* 1">.declaration;
  let summary = "NonZero of the condition, and Gather";
  let arguments = (ins AnyTensor:$data, AnyTensor:$condition,
                       OptionalAttr<I64Attr>:$axis);
  let results = (outs AnyTensor:$result);
}
