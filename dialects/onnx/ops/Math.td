//===- Math.td - Functions of one number ----------------------------------===//

include "dialects/onnx/Onnx.td"

def Onnx_AbsOp : Onnx_UnaryOp<"Abs", "abs">;
def Onnx_CeilOp : Onnx_UnaryOp<"Ceil", "ceil">;
def Onnx_CosOp : Onnx_UnaryOp<"Cos">;
def Onnx_ErfOp : Onnx_UnaryOp<"Erf">;
def Onnx_ExpOp : Onnx_UnaryOp<"Exp">;
def Onnx_FloorOp : Onnx_UnaryOp<"Floor", "floor">;
def Onnx_LogOp : Onnx_UnaryOp<"Log">;
def Onnx_ReciprocalOp : Onnx_UnaryOp<"Reciprocal", "reciprocal">;
def Onnx_RoundOp : Onnx_UnaryOp<"Round", "round">;
def Onnx_SignOp : Onnx_UnaryOp<"Sign", "sign">;
def Onnx_SinOp : Onnx_UnaryOp<"Sin">;
def Onnx_SqrtOp : Onnx_UnaryOp<"Sqrt", "sqrt">;

def Onnx_AcosOp : Onnx_UnaryOp<"Acos">;
def Onnx_AcoshOp : Onnx_UnaryOp<"Acosh">;
def Onnx_AsinOp : Onnx_UnaryOp<"Asin">;
def Onnx_AsinhOp : Onnx_UnaryOp<"Asinh">;
def Onnx_AtanOp : Onnx_UnaryOp<"Atan">;
def Onnx_AtanhOp : Onnx_UnaryOp<"Atanh">;
def Onnx_CoshOp : Onnx_UnaryOp<"Cosh">;
def Onnx_SinhOp : Onnx_UnaryOp<"Sinh">;
def Onnx_TanOp : Onnx_UnaryOp<"Tan">;

def Onnx_NegOp : Onnx_OwnOp<"Neg", ["partialRule"], [FoldsKnown],
                            "lowerElementwise"> {
  let arguments = (ins AnyTensor:$input);
  let results = (outs AnyTensor:$result);
}
