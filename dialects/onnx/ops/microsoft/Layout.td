//===- Layout.td - com.microsoft: what ONNX has of other opsets -----------===//

include "dialects/onnx/ops/microsoft/Microsoft.td"

def Onnx_MicrosoftTriluOp : Onnx_MicrosoftOp<"Trilu", 2, "2+ one"> {
  let arguments = (ins AnyTensor:$data, Variadic<Onnx_Value>:$diagonal,
                       Onnx_Int<"1">:$upper);
}
def Onnx_MicrosoftPadOp : Onnx_MicrosoftOp<"Pad", 3, "* 1 one"> {
  let summary = "Pads may be [1, n]";
  let arguments = (ins AnyTensor:$data, AnyTensor:$pads,
                       Variadic<Onnx_Value>:$value,
                       Onnx_String<"constant">:$mode);
}
def Onnx_MicrosoftNhwcMaxPoolOp : Onnx_MicrosoftOp<"NhwcMaxPool", 1, "3+"> {
  let summary = "Channels are the last dim";
  let arguments = (ins AnyTensor:$input, Onnx_String<"NOTSET">:$auto_pad,
                       Onnx_Int<"0">:$ceil_mode,
                       OptionalAttr<DenseI64ArrayAttr>:$dilations,
                       DenseI64ArrayAttr:$kernel_shape,
                       OptionalAttr<DenseI64ArrayAttr>:$pads,
                       OptionalAttr<DenseI64ArrayAttr>:$strides);
}
