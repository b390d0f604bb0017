//===- Logic.td - Comparisons and logic -----------------------------------===//

include "dialects/onnx/Onnx.td"

class Onnx_PredicateOp<string opMnemonic, string fold>
    : Onnx_BinaryOp<opMnemonic, fold, [], /*isPredicate=*/1>;

def Onnx_EqualOp : Onnx_PredicateOp<"Equal", "equal">;
def Onnx_LessOp : Onnx_PredicateOp<"Less", "less">;
def Onnx_LessOrEqualOp : Onnx_PredicateOp<"LessOrEqual", "lessOrEqual">;
def Onnx_GreaterOp : Onnx_PredicateOp<"Greater", "greater">;
def Onnx_GreaterOrEqualOp : Onnx_PredicateOp<"GreaterOrEqual", "greaterOrEqual">;
def Onnx_AndOp : Onnx_PredicateOp<"And", "logicalAnd">;
def Onnx_OrOp : Onnx_PredicateOp<"Or", "logicalOr">;
def Onnx_XorOp : Onnx_PredicateOp<"Xor", "logicalXor">;
def Onnx_NotOp : Onnx_UnaryOp<"Not", "logicalNot", 1>;
def Onnx_IsNaNOp : Onnx_UnaryOp<"IsNaN", "", 1>;
def Onnx_IsInfOp : Onnx_UnaryOp<"IsInf", "", 1> {
  let arguments = (ins AnyTensor:$input,
                       DefaultValuedAttr<I64Attr, "1">:$detect_negative,
                       DefaultValuedAttr<I64Attr, "1">:$detect_positive);
}

def Onnx_WhereOp : Onnx_BroadcastOp<"Where", ["partialRule"], [FoldsKnown]> {
  let arguments = (ins AnyTensor:$condition, AnyTensor:$then_value,
                       AnyTensor:$else_value);
}
