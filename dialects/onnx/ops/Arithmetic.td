//===- Arithmetic.td - Element by element with broadcasting ---------------===//

include "dialects/onnx/Onnx.td"

def Onnx_AddOp : Onnx_BinaryOp<"Add", ["partialRule"]>;
def Onnx_SubOp : Onnx_BinaryOp<"Sub", ["partialRule"]>;
def Onnx_MulOp : Onnx_BinaryOp<"Mul", ["partialRule"]>;
def Onnx_DivOp : Onnx_BinaryOp<"Div", ["partialRule"]>;
def Onnx_PowOp : Onnx_BinaryOp<"Pow">;
def Onnx_PReluOp : Onnx_BinaryOp<"PRelu">;
def Onnx_ModOp : Onnx_BinaryOp<"Mod"> {
  let arguments = (ins AnyTensor:$lhs, AnyTensor:$rhs,
                       DefaultValuedAttr<I64Attr, "0">:$fmod);
}

// ONNX's variadic forms become chains of two operands at import.
class Onnx_ChainOp<string opMnemonic> : Onnx_BroadcastOp<opMnemonic> {
  let arguments = (ins Variadic<AnyTensor>:$inputs);
}
def Onnx_MinOp : Onnx_ChainOp<"Min">;
def Onnx_MaxOp : Onnx_ChainOp<"Max">;
def Onnx_SumOp : Onnx_ChainOp<"Sum">;
