//===- Recurrent.td - Networks with a state, step by step -----------------===//

include "dialects/onnx/Onnx.td"

// Import unrolls the steps, whose number must be constant.
class Onnx_RecurrentOp<string opMnemonic, dag more>
    : Onnx_ReplacedOp<opMnemonic> {
  let arguments = !con((ins AnyTensor:$input, AnyTensor:$weights,
                            AnyTensor:$recurrence,
                            Variadic<Onnx_Value>:$others,
                            DefaultValuedAttr<StrAttr, "\"forward\"">:$direction,
                            OptionalAttr<I64Attr>:$hidden_size,
                            DefaultValuedAttr<I64Attr, "0">:$layout), more);
  let results = (outs Variadic<AnyTensor>:$parts);
}
def Onnx_RNNOp : Onnx_RecurrentOp<"RNN", (ins)>;
def Onnx_GRUOp : Onnx_RecurrentOp<"GRU",
    (ins DefaultValuedAttr<I64Attr, "0">:$linear_before_reset)>;
def Onnx_LSTMOp : Onnx_RecurrentOp<"LSTM",
    (ins DefaultValuedAttr<I64Attr, "0">:$input_forget)>;
