//===- Bitwise.td - The bits of integers ----------------------------------===//

include "dialects/onnx/Onnx.td"

def Onnx_BitwiseAndOp : Onnx_BinaryOp<"BitwiseAnd">;
def Onnx_BitwiseOrOp : Onnx_BinaryOp<"BitwiseOr">;
def Onnx_BitwiseXorOp : Onnx_BinaryOp<"BitwiseXor">;
def Onnx_BitwiseNotOp : Onnx_UnaryOp<"BitwiseNot">;
def Onnx_BitShiftOp : Onnx_BinaryOp<"BitShift"> {
  let arguments = (ins AnyTensor:$lhs, AnyTensor:$rhs,
                       DefaultValuedAttr<StrAttr, "\"LEFT\"">:$direction);
}

def Onnx_BitCastOp : Onnx_OwnOp<"BitCast", [], [], "lowerElementwise"> {
  let summary = "The same bits, read as another type of the same size";
  let arguments = (ins AnyTensor:$input, OptionalAttr<I64Attr>:$to);
  let results = (outs AnyTensor:$result);
}
