//===- Pooling.td - Windows that become one element -----------------------===//

include "dialects/onnx/Onnx.td"

// auto_pad becomes pads at import.
class Onnx_PoolOp<string opMnemonic, dag more>
    : Onnx_OwnOp<opMnemonic, [], [], "lowerPool"> {
  let extraClassDeclaration = Onnx_Ranks<"3+">.declaration;
  let summary = "b c ... -> b c ..., one element a window";
  let arguments = !con((ins AnyTensor:$input,
                            DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
                            DefaultValuedAttr<I64Attr, "0">:$ceil_mode,
                            OptionalAttr<DenseI64ArrayAttr>:$dilations,
                            OptionalAttr<DenseI64ArrayAttr>:$kernel_shape,
                            OptionalAttr<DenseI64ArrayAttr>:$pads,
                            OptionalAttr<DenseI64ArrayAttr>:$strides), more);
  let results = (outs Variadic<AnyTensor>:$parts);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferTypes(
        ::shardc::onnx::ShapeInference &inference) {
      return ::shardc::onnx::inferPool(*this, inference);
    }
    ::shardc::onnx::ShardingRule $cppClass::shardingRule() {
      return ::shardc::onnx::poolRule(*this);
    }
  }];
}
def Onnx_AveragePoolOp : Onnx_PoolOp<"AveragePool",
    (ins DefaultValuedAttr<I64Attr, "0">:$count_include_pad)>;
def Onnx_LpPoolOp : Onnx_PoolOp<"LpPool",
    (ins DefaultValuedAttr<I64Attr, "2">:$p)>;
// The second result are places in the whole input.
def Onnx_MaxPoolOp : Onnx_PoolOp<"MaxPool",
    (ins DefaultValuedAttr<I64Attr, "0">:$storage_order)>;

// These become reductions and a scatter at import.
class Onnx_GlobalPoolOp<string opMnemonic> : Onnx_ReplacedOp<opMnemonic> {
  let extraClassDeclaration = Onnx_Ranks<"3+">.declaration;
  let arguments = (ins AnyTensor:$input);
  let results = (outs AnyTensor:$result);
}
def Onnx_GlobalAveragePoolOp : Onnx_GlobalPoolOp<"GlobalAveragePool">;
def Onnx_GlobalMaxPoolOp : Onnx_GlobalPoolOp<"GlobalMaxPool">;
def Onnx_GlobalLpPoolOp : Onnx_GlobalPoolOp<"GlobalLpPool"> {
  let arguments = (ins AnyTensor:$input, DefaultValuedAttr<I64Attr, "2">:$p);
}
def Onnx_MaxUnpoolOp : Onnx_ReplacedOp<"MaxUnpool"> {
  let extraClassDeclaration = Onnx_Ranks<"3+ 3+ 1">.declaration;
  let arguments = (ins AnyTensor:$input, AnyTensor:$indices,
                       Variadic<Onnx_Value>:$shape_operands,
                       OptionalAttr<DenseI64ArrayAttr>:$kernel_shape,
                       OptionalAttr<DenseI64ArrayAttr>:$pads,
                       OptionalAttr<DenseI64ArrayAttr>:$strides);
  let results = (outs AnyTensor:$result);
}
