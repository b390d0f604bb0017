//===- Logic.td - Comparisons and logic -----------------------------------===//

include "dialects/onnx/Onnx.td"

def Onnx_EqualOp : Onnx_BinaryOp<"Equal">;
def Onnx_LessOp : Onnx_BinaryOp<"Less">;
def Onnx_LessOrEqualOp : Onnx_BinaryOp<"LessOrEqual">;
def Onnx_GreaterOp : Onnx_BinaryOp<"Greater">;
def Onnx_GreaterOrEqualOp : Onnx_BinaryOp<"GreaterOrEqual">;
def Onnx_AndOp : Onnx_BinaryOp<"And">;
def Onnx_OrOp : Onnx_BinaryOp<"Or">;
def Onnx_XorOp : Onnx_BinaryOp<"Xor">;
def Onnx_NotOp : Onnx_UnaryOp<"Not">;
def Onnx_IsNaNOp : Onnx_UnaryOp<"IsNaN">;
def Onnx_IsInfOp : Onnx_UnaryOp<"IsInf"> {
  let arguments = (ins AnyTensor:$input,
                       DefaultValuedAttr<I64Attr, "1">:$detect_negative,
                       DefaultValuedAttr<I64Attr, "1">:$detect_positive);
}

def Onnx_WhereOp : Onnx_BroadcastOp<"Where", ["partialRule"]> {
  let arguments = (ins AnyTensor:$condition, AnyTensor:$then_value,
                       AnyTensor:$else_value);
}
