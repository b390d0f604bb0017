//===- Reduction.td - Many elements become one ----------------------------===//

include "dialects/onnx/Onnx.td"

// `axes` is an attribute after import, sorted and not negative.
class Onnx_ReduceOp<string opMnemonic, string fold = "">
    : Onnx_OwnOp<opMnemonic, ["partialRule"], [], "lowerReduction"> {
  let arguments = (ins AnyTensor:$data, Variadic<Onnx_Value>:$shape_operands,
                       OptionalAttr<DenseI64ArrayAttr>:$axes,
                       DefaultValuedAttr<I64Attr, "1">:$keepdims,
                       DefaultValuedAttr<I64Attr, "0">:$noop_with_empty_axes);
  let results = (outs AnyTensor:$result);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferTypes(
        ::shardc::onnx::ShapeInference &inference) {
      return ::shardc::onnx::inferReduce(*this, inference, }]
      # !if(!empty(fold), "nullptr", "::shardc::onnx::fold::" # fold) # [{);
    }
    ::shardc::onnx::ShardingRule $cppClass::shardingRule() {
      return ::shardc::onnx::reduceRule(*this);
    }
    ::shardc::onnx::PartialRule $cppClass::partialRule() {
      return ::shardc::onnx::reducePartialRule(*this);
    }
  }];
}

def Onnx_ReduceSumOp : Onnx_ReduceOp<"ReduceSum", "add">;
def Onnx_ReduceMeanOp : Onnx_ReduceOp<"ReduceMean">;
def Onnx_ReduceMaxOp : Onnx_ReduceOp<"ReduceMax", "max">;
def Onnx_ReduceMinOp : Onnx_ReduceOp<"ReduceMin", "min">;
def Onnx_ReduceProdOp : Onnx_ReduceOp<"ReduceProd", "mul">;
def Onnx_ReduceL1Op : Onnx_ReduceOp<"ReduceL1">;
def Onnx_ReduceL2Op : Onnx_ReduceOp<"ReduceL2">;
def Onnx_ReduceSumSquareOp : Onnx_ReduceOp<"ReduceSumSquare">;
def Onnx_ReduceLogSumExpOp : Onnx_ReduceOp<"ReduceLogSumExp">;

class Onnx_ArgOp<string opMnemonic>
    : Onnx_OwnOp<opMnemonic, [], [], "lowerArgument"> {
  let arguments = (ins AnyTensor:$data, DefaultValuedAttr<I64Attr, "0">:$axis,
                       DefaultValuedAttr<I64Attr, "1">:$keepdims,
                       DefaultValuedAttr<I64Attr, "0">:$select_last_index);
  let results = (outs AnyTensor:$result);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferTypes(
        ::shardc::onnx::ShapeInference &inference) {
      return ::shardc::onnx::inferArg(*this, inference);
    }
    ::shardc::onnx::ShardingRule $cppClass::shardingRule() {
      return ::shardc::onnx::argRule(*this);
    }
  }];
}
def Onnx_ArgMaxOp : Onnx_ArgOp<"ArgMax">;
def Onnx_ArgMinOp : Onnx_ArgOp<"ArgMin">;

class Onnx_ScanOp<string opMnemonic>
    : Onnx_OwnOp<opMnemonic, [], [], "lowerScan"> {
  let extraClassDeclaration = Onnx_Ranks<"* one">.declaration;
  let arguments = (ins AnyTensor:$data, Variadic<Onnx_Value>:$shape_operands,
                       OptionalAttr<I64Attr>:$axis,
                       DefaultValuedAttr<I64Attr, "0">:$exclusive,
                       DefaultValuedAttr<I64Attr, "0">:$reverse);
  let results = (outs AnyTensor:$result);
}
def Onnx_CumSumOp : Onnx_ScanOp<"CumSum">;
def Onnx_CumProdOp : Onnx_ScanOp<"CumProd">;
