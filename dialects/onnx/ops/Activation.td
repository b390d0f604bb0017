//===- Activation.td - Nonlinear functions between layers -----------------===//

include "dialects/onnx/Onnx.td"

def Onnx_ReluOp : Onnx_UnaryOp<"Relu">;
def Onnx_SigmoidOp : Onnx_UnaryOp<"Sigmoid">;
def Onnx_TanhOp : Onnx_UnaryOp<"Tanh">;
def Onnx_SoftplusOp : Onnx_UnaryOp<"Softplus">;
def Onnx_SoftsignOp : Onnx_UnaryOp<"Softsign">;
def Onnx_MishOp : Onnx_UnaryOp<"Mish">;
def Onnx_HardSwishOp : Onnx_UnaryOp<"HardSwish">;

// Attributes keep ONNX's names and defaults.
def Onnx_GeluOp : Onnx_UnaryOp<"Gelu"> {
  let extraClassDeclaration = Onnx_Structure<"GELU">.declaration;
  let arguments = (ins AnyTensor:$input,
                       DefaultValuedAttr<StrAttr, "\"none\"">:$approximate);
}
def Onnx_LeakyReluOp : Onnx_UnaryOp<"LeakyRelu"> {
  let arguments = (ins AnyTensor:$input,
                       DefaultValuedAttr<F32Attr, "0.01f">:$alpha);
}
def Onnx_EluOp : Onnx_UnaryOp<"Elu"> {
  let arguments = (ins AnyTensor:$input,
                       DefaultValuedAttr<F32Attr, "1.0f">:$alpha);
}
def Onnx_SwishOp : Onnx_UnaryOp<"Swish"> {
  let extraClassDeclaration = Onnx_Structure<"SiLU">.declaration;
  let summary = "x * sigmoid(alpha * x)";
  let arguments = (ins AnyTensor:$input,
                       DefaultValuedAttr<F32Attr, "1.0f">:$alpha);
}
def Onnx_HardSigmoidOp : Onnx_UnaryOp<"HardSigmoid"> {
  let arguments = (ins AnyTensor:$input,
                       DefaultValuedAttr<F32Attr, "0.2f">:$alpha,
                       DefaultValuedAttr<F32Attr, "0.5f">:$beta);
}

// Before opset 11 the bounds were attributes.
def Onnx_ClipOp : Onnx_OwnOp<"Clip", [], [], "lowerElementwise"> {
  let extraClassDeclaration = Onnx_Ranks<"* 0">.declaration;
  let summary = "Bounds are scalars; either may be absent";
  let arguments = (ins AnyTensor:$input, Variadic<Onnx_Value>:$bounds,
                       OptionalAttr<F32Attr>:$min, OptionalAttr<F32Attr>:$max);
  let results = (outs AnyTensor:$result);
}
