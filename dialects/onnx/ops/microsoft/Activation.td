//===- Activation.td - com.microsoft: GELUs -------------------------------===//

include "dialects/onnx/ops/microsoft/Microsoft.td"

def Onnx_MicrosoftGeluOp : Onnx_MicrosoftOp<"Gelu", 1> {
  let arguments = (ins AnyTensor:$input);
}
def Onnx_MicrosoftBiasGeluOp : Onnx_MicrosoftOp<"BiasGelu", 2, "* 1"> {
  let arguments = (ins AnyTensor:$input, AnyTensor:$bias);
}
def Onnx_MicrosoftFastGeluOp : Onnx_MicrosoftOp<"FastGelu", 2, "* 1"> {
  let summary = "The tanh approximation, of input + bias";
  let arguments = (ins AnyTensor:$input, Variadic<Onnx_Value>:$bias);
}
def Onnx_MicrosoftQuickGeluOp : Onnx_MicrosoftOp<"QuickGelu", 1> {
  let summary = "x * Sigmoid(alpha * x)";
  let arguments = (ins AnyTensor:$input, Onnx_Float<"1.702f">:$alpha);
}
