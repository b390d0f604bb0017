//===- ControlFlow.td - Branches and loops --------------------------------===//
//
// Bodies see the values around them until the pass CaptureOperands has made
// those operands of the op, and arguments of its bodies: from then on a body
// is a program of its own, which every rank runs whole.
//
//===----------------------------------------------------------------------===//

include "dialects/onnx/Onnx.td"

def Onnx_YieldOp : Onnx_Op<"Yield", [Terminator]> {
  let summary = "Ends a body: its results";
  let arguments = (ins Variadic<Onnx_Value>:$results);
  let assemblyFormat = "($results^ `:` type($results))? attr-dict";
}

def Onnx_IfOp : Onnx_OwnOp<"If", [], [SingleBlock]> {
  let extraClassDeclaration = Onnx_Ranks<"one *">.declaration;
  let summary = "One branch or the other";
  let description = [{
        %y = onnx.If %condition : (tensor<i1>) -> tensor<?xf32, ...> {
          ...
          onnx.Yield %1 : ...
        } else {
          ...
        }

    A condition that is known at import leaves one branch in the op's place; one
    that an input of the model decides becomes two functions, see the pass
    SpecializeBranches. Any other is left to the run. A size in which the
    branches differ is a symbol of its own, bound behind the op.
  }];
  let arguments = (ins AnyTensor:$condition, Variadic<AnyTensor>:$captures);
  let results = (outs Variadic<AnyTensor>:$results);
  let regions = (region SizedRegion<1>:$then_branch, SizedRegion<1>:$else_branch);
  let assemblyFormat = [{
    operands attr-dict `:` functional-type(operands, results) $then_branch `else` $else_branch
  }];
}

def Onnx_LoopOp : Onnx_OwnOp<"Loop", [], [SingleBlock]> {
  let summary = "A body that runs again and again";
  let description = [{
        %total, %rows = onnx.Loop %trips, %condition, %zero {num_scans = 1}
            : (tensor<i64>, tensor<i1>, tensor<f32>) -> (...) {
        ^bb0(%i: tensor<i64>, %goesOn: tensor<i1>, %sum: tensor<f32>):
          ...
          onnx.Yield %goesOnStill, %next, %row
        }

    Runs `trip_count` times (None: without end) as long as the condition holds
    (None: it does). What is carried from one iteration to the next comes in as
    an argument and is a result at the end; the last `num_scans` values that are
    yielded are put below each other. Operands behind the carried ones are seen
    by every iteration.

    A carried value whose size differs between iterations has a symbol for it in
    the body, and another one behind the op. A short loop of a known number of
    iterations is written out at import.
  }];
  let arguments = (ins Onnx_Value:$trip_count, Onnx_Value:$condition,
                       Variadic<AnyTensor>:$inputs,
                       DefaultValuedAttr<I64Attr, "0">:$num_scans);
  let results = (outs Variadic<AnyTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    operands attr-dict `:` functional-type(operands, results) $body
  }];
  let extraClassDeclaration = [{
    unsigned getNumCarried() { return getNumResults() - getNumScans(); }
    ::mlir::OperandRange getCarried() {
      return getInputs().take_front(getNumCarried());
    }
    ::mlir::OperandRange getCaptures() {
      return getInputs().drop_front(getNumCarried());
    }
    /// Arguments of the body.
    ::mlir::BlockArgument getIteration() { return getBody().getArgument(0); }
    ::mlir::BlockArgument getGoesOn() { return getBody().getArgument(1); }
    ::llvm::ArrayRef<::mlir::BlockArgument> getCarriedArguments();
    ::llvm::ArrayRef<::mlir::BlockArgument> getCapturedArguments();
    /// What the body yields: whether to go on, the next carried values, rows.
    ::mlir::Value getGoesOnStill() { return getYielded().front(); }
    ::mlir::OperandRange getNext();
    ::mlir::OperandRange getScanned();
    ::mlir::OperandRange getYielded() {
      return getBody().front().getTerminator()->getOperands();
    }
  }] # Onnx_Ranks<"one one *">.declaration;
}

def Onnx_ScanOp : Onnx_Op<"Scan", [Onnx_IsReplaced, SingleBlock,
                                   DeclareOpInterfaceMethods<OnnxOp>]> {
  let summary = "Becomes a Loop over the rows of its last operands";
  let arguments = (ins Variadic<Onnx_Value>:$inputs,
                       I64Attr:$num_scan_inputs,
                       OptionalAttr<DenseI64ArrayAttr>:$scan_input_axes,
                       OptionalAttr<DenseI64ArrayAttr>:$scan_input_directions,
                       OptionalAttr<DenseI64ArrayAttr>:$scan_output_axes,
                       OptionalAttr<DenseI64ArrayAttr>:$scan_output_directions);
  let results = (outs Variadic<AnyTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    operands attr-dict `:` functional-type(operands, results) $body
  }];
}
