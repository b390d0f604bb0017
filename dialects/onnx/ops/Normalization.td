//===- Normalization.td - Softmax and norms -------------------------------===//

include "dialects/onnx/Onnx.td"

// `axis` is not negative after import.
class Onnx_SoftmaxLikeOp<string opMnemonic>
    : Onnx_OwnOp<opMnemonic, [], [], "lowerNormalization"> {
  let arguments = (ins AnyTensor:$input,
                       DefaultValuedAttr<I64Attr, "-1">:$axis);
  let results = (outs AnyTensor:$result);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferTypes(
        ::shardc::onnx::ShapeInference &inference) {
      return ::shardc::onnx::inferSoftmax(*this, inference);
    }
    ::shardc::onnx::ShardingRule $cppClass::shardingRule() {
      return ::shardc::onnx::blockedAxesRule(
          *this, {static_cast<int64_t>(getAxis())});
    }
  }];
}
def Onnx_SoftmaxOp : Onnx_SoftmaxLikeOp<"Softmax">;
def Onnx_LogSoftmaxOp : Onnx_SoftmaxLikeOp<"LogSoftmax">;

def Onnx_LayerNormalizationOp
    : Onnx_OwnOp<"LayerNormalization", [], [], "lowerNormalization"> {
  let extraClassDeclaration = Onnx_Structure<"layer norm">.declaration;
  let arguments = (ins AnyTensor:$input, AnyTensor:$scale,
                       Variadic<Onnx_Value>:$bias,
                       DefaultValuedAttr<I64Attr, "-1">:$axis,
                       DefaultValuedAttr<F32Attr, "1e-5f">:$epsilon,
                       DefaultValuedAttr<I64Attr, "1">:$stash_type);
  let results = (outs Variadic<AnyTensor>:$parts);
}

def Onnx_RMSNormalizationOp
    : Onnx_OwnOp<"RMSNormalization", [], [], "lowerNormalization"> {
  let extraClassDeclaration = Onnx_Structure<"RMS norm">.declaration;
  let arguments = (ins AnyTensor:$input, AnyTensor:$scale,
                       DefaultValuedAttr<I64Attr, "-1">:$axis,
                       DefaultValuedAttr<F32Attr, "1e-5f">:$epsilon,
                       DefaultValuedAttr<I64Attr, "1">:$stash_type);
  let results = (outs AnyTensor:$result);
}
