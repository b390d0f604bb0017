//===- Recurrent.td - Networks with a state, step by step -----------------===//

include "dialects/onnx/Onnx.td"

// Import unrolls the steps, or makes a Loop of them if their number is not known.
class Onnx_RecurrentOp<string opMnemonic, dag more>
    : Onnx_ReplacedOp<opMnemonic> {
  let extraClassDeclaration = Onnx_Ranks<"3 3 3 2 1 3 3 2">.declaration;
  let arguments = !con((ins AnyTensor:$input, AnyTensor:$weights,
                            AnyTensor:$recurrence,
                            Variadic<Onnx_Value>:$others,
                            DefaultValuedAttr<StrAttr, "\"forward\"">:$direction,
                            OptionalAttr<ArrayAttr>:$activations,
                            OptionalAttr<F32ArrayAttr>:$activation_alpha,
                            OptionalAttr<F32ArrayAttr>:$activation_beta,
                            OptionalAttr<F32Attr>:$clip,
                            OptionalAttr<I64Attr>:$hidden_size,
                            DefaultValuedAttr<I64Attr, "0">:$layout), more);
  let results = (outs Variadic<AnyTensor>:$parts);
}
def Onnx_RNNOp : Onnx_RecurrentOp<"RNN", (ins)>;
def Onnx_GRUOp : Onnx_RecurrentOp<"GRU",
    (ins DefaultValuedAttr<I64Attr, "0">:$linear_before_reset)>;
def Onnx_LSTMOp : Onnx_RecurrentOp<"LSTM",
    (ins DefaultValuedAttr<I64Attr, "0">:$input_forget)>;
