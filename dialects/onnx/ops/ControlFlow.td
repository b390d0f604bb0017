//===- ControlFlow.td - Branches and loops --------------------------------===//

include "dialects/onnx/Onnx.td"

def Onnx_YieldOp : Onnx_Op<"Yield", [Terminator]> {
  let summary = "Ends a branch: its results";
  let arguments = (ins Variadic<Onnx_Value>:$results);
  let assemblyFormat = "($results^ `:` type($results))? attr-dict";
}

def Onnx_IfOp : Onnx_Op<"If", [Onnx_IsReplaced, SingleBlock,
                               DeclareOpInterfaceMethods<OnnxOp>]> {
  let summary = "One branch or the other";
  let description = [{
        %y = onnx.If %condition : (tensor<i1>) -> tensor<?xf32, ...> {
          ...
          onnx.Yield %1 : ...
        } else {
          ...
        }

    Branches see the values around them. A condition that is known at import
    leaves one branch in the op's place; one that an input of the model decides
    becomes two functions, see the pass SpecializeBranches.
  }];
  let arguments = (ins AnyTensor:$condition);
  let results = (outs Variadic<AnyTensor>:$results);
  let regions = (region SizedRegion<1>:$then_branch, SizedRegion<1>:$else_branch);
  let assemblyFormat = [{
    $condition attr-dict `:` functional-type(operands, results) $then_branch `else` $else_branch
  }];
}
