//===- Arithmetic.td - Element by element with broadcasting ---------------===//

include "dialects/onnx/Onnx.td"

def Onnx_AddOp : Onnx_BinaryOp<"Add", "add", ["partialRule"]>;
def Onnx_SubOp : Onnx_BinaryOp<"Sub", "sub", ["partialRule"]>;
def Onnx_MulOp : Onnx_BinaryOp<"Mul", "mul", ["partialRule"]>;
def Onnx_DivOp : Onnx_BinaryOp<"Div", "div", ["partialRule"]>;
def Onnx_PowOp : Onnx_BinaryOp<"Pow", "pow">;
def Onnx_PReluOp : Onnx_BinaryOp<"PRelu">;
def Onnx_ModOp : Onnx_BinaryOp<"Mod", "mod"> {
  let arguments = (ins AnyTensor:$lhs, AnyTensor:$rhs,
                       DefaultValuedAttr<I64Attr, "0">:$fmod);
}

// ONNX's variadic forms become chains of two operands at import, Sum an Add.
class Onnx_ChainOp<string opMnemonic> : Onnx_BroadcastOp<opMnemonic> {
  let arguments = (ins Variadic<AnyTensor>:$inputs);
  let extraClassDefinition = [{
    ::shardc::onnx::ShardingRule $cppClass::shardingRule() {
      return ::shardc::onnx::elementwiseRule(*this);
    }
  }];
}
def Onnx_MinOp : Onnx_ChainOp<"Min">;
def Onnx_MaxOp : Onnx_ChainOp<"Max">;
def Onnx_SumOp : Onnx_ReplacedOp<"Sum"> {
  let arguments = (ins Variadic<AnyTensor>:$inputs);
  let results = (outs AnyTensor:$result);
}
