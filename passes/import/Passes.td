//===- Passes.td - From a raw module to phase imported --------------------===//

include "mlir/Pass/PassBase.td"

def InferShapes : Pass<"shardc-infer-shapes", "::mlir::ModuleOp"> {
  let summary = "Gives every value its type, evaluates shape arithmetic";
  let description = [{
    Requires: a raw module, as the reader writes it: results of unknown type,
    all operands of the ONNX nodes; `onnx.opset` says what the ops mean.
    Ensures: every value has a type with symbolic sizes. No operand is left that
    only carries a known shape: it has become dims, bounds or axes. Assumptions
    that this took stand as onnx.Guard at the function's start; where one says
    that a symbol equals an expression, the expression stands in its place
    everywhere, the function's arguments included.

    Example (tests/passes/import/infer-shapes/example.mlir):

        %0 = onnx.Shape %x                    // x: tensor<batch x seq x 96>
        %1 = onnx.Gather %0, %zero
        ...
        %5 = onnx.Concat %2, %minus1, %c16 {axis = 0}
        %6 = onnx.Reshape %x, %5

    becomes

        %6 = onnx.Reshape %x : ... -> tensor<batch x seq x 6 x 16>
  }];
  let dependentDialects = ["::shardc::dist::DistDialect",
                           "::shardc::onnx::OnnxDialect"];
  let statistics = [
    Statistic<"numGuards", "guards", "Assumptions about the inputs' sizes">,
    Statistic<"numErased", "erased", "Ops that only computed shapes">
  ];
}

def FoldLayout : Pass<"shardc-fold-layout", "::mlir::ModuleOp"> {
  let summary = "Makes chains of Reshape and Transpose as short as they can be";
  let description = [{
    Requires: inferred shapes.
    Ensures: no Reshape of a Reshape, no Transpose of a Transpose; where a
    Reshape only merges dims before a Transpose, the Transpose moves the dims
    themselves.

    Example (tests/passes/import/fold-layout/example.mlir):

        %1 = onnx.Reshape %k                  // b h s d -> (b h) s d
        %2 = onnx.Transpose %1 {perm = [0, 2, 1]}
        %3 = onnx.Reshape %2                  // (b h) d s -> b h d s

    becomes

        %3 = onnx.Transpose %k {perm = [0, 1, 3, 2]}
  }];
  let dependentDialects = ["::shardc::onnx::OnnxDialect"];
  let statistics = [Statistic<"numFolded", "folded", "Ops that went">];
}
