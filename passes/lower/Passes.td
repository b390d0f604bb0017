//===- Passes.td - From partitioned to lowered ----------------------------===//

include "mlir/Pass/PassBase.td"

def Lower : Pass<"shardc-lower", "::mlir::ModuleOp"> {
  let summary = "Turns local programs into buffers, views and kernel calls";
  let description = [{
    Requires: phase partitioned.
    Ensures: phase lowered: one `rt.program` per stage. Reshape, Transpose, Slice,
    Split and Expand are views wherever their bytes allow it; what depends on
    weights alone runs once, before `rt.ready`; every arena buffer is freed after
    its last use. The sharded function is gone.

    Example (tests/passes/lower/lower/example.mlir):

        %y = onnx.Relu %x

    becomes

        %b = rt.alloc <[batch * 64]>
        %v = rt.view %b : <f32, [batch, 16], [16, 1], 0, replicated>
        rt.call "Relu"(%x : ...) into(%v : ...) {}
  }];
  let dependentDialects = ["::shardc::rt::RtDialect"];
}
