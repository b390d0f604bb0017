//===- Source.td - Values that come from nowhere but the model ------------===//

include "dialects/onnx/Onnx.td"

def Onnx_NoneOp : Onnx_Op<"None", [DeclareOpInterfaceMethods<LowerableOp>]> {
  let summary = "An absent optional operand";
  let results = (outs NoneType:$result);
}

def Onnx_WeightOp : Onnx_OwnOp<"Weight"> {
  let summary = "A tensor in a file, by reference";
  let description = [{
    `length` bytes at `offset` of `file`, a path relative to the model's folder;
    row-major, of the result's type and global dims. Weights never enter the IR.

    `pattern` is what the importer saw in the data, and recovery may build on:
    "triangle", row i of the last two dims is i + 1 ones and then zeros, and
    other dims are 1; "halves" and "pairs", each element of the last dim is
    there twice, in both halves or side by side; "counted", row i of the last two
    dims is zeros and then i, and other dims are 1: indices; "zeros", all are 0: a
    zero point of eight bits of float.
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$file, I64Attr:$offset,
                       I64Attr:$length, OptionalAttr<StrAttr>:$pattern);
  let results = (outs AnyTensor:$result);
}

def Onnx_ConstantOp : Onnx_OwnOp<"Constant"> {
  let summary = "A small tensor, by value";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyTensor:$result);
}

def Onnx_SymbolsOp : Onnx_OwnOp<"Symbols"> {
  let summary = "A small integer tensor whose elements are known symbolically";
  let description = [{
        %0 = onnx.Symbols {values = #dist.dims<[past + seq]>} : () -> tensor<i64>

    What is left of the exporters' shape arithmetic where data depends on it.
  }];
  let arguments = (ins Dist_DimsAttr:$values);
  let results = (outs AnyTensor:$result);
}

def Onnx_GuardOp
    : Op<Onnx_Dialect, "Guard", [DeclareOpInterfaceMethods<LowerableOp>]> {
  let summary = "An assumption about the inputs' sizes, checked on every run";
  let description = [{
        onnx.Guard #dist.dims<[seq]> at_most #dist.dims<[128]> "why"

    `kind` is equal, at_least or at_most.
  }];
  let arguments = (ins Dist_DimsAttr:$lhs, StrAttr:$kind, Dist_DimsAttr:$rhs,
                       StrAttr:$message);
  let assemblyFormat = "qualified($lhs) $kind qualified($rhs) $message attr-dict";
}

def Onnx_ShapeOp : Onnx_ReplacedOp<"Shape"> {
  let arguments = (ins AnyTensor:$data, DefaultValuedAttr<I64Attr, "0">:$start,
                       OptionalAttr<I64Attr>:$end);
  let results = (outs AnyTensor:$result);
}
def Onnx_SizeOp : Onnx_ReplacedOp<"Size"> {
  let arguments = (ins AnyTensor:$data);
  let results = (outs AnyTensor:$result);
}

def Onnx_RangeOp : Onnx_OwnOp<"Range"> {
  let extraClassDeclaration = Onnx_Ranks<"one">.declaration;
  let summary = "start + i * delta";
  let description = [{
    After import `bounds` holds start and delta where they are known; the number
    of elements is the result's dim.
  }];
  let arguments = (ins Variadic<AnyTensor>:$inputs, OptionalAttr<Dist_DimsAttr>:$bounds);
  let results = (outs AnyTensor:$result);
}

def Onnx_ConstantOfShapeOp : Onnx_ReplacedOp<"ConstantOfShape"> {
  let extraClassDeclaration = Onnx_Ranks<"1">.declaration;
  let summary = "Becomes Expand of a constant at import";
  let arguments = (ins AnyTensor:$shape, OptionalAttr<ElementsAttr>:$value);
  let results = (outs AnyTensor:$result);
}
