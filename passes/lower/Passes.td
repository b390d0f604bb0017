//===- Passes.td - From partitioned to lowered ----------------------------===//

include "mlir/Pass/PassBase.td"

def BindSizes : Pass<"shardc-bind-sizes", "::mlir::ModuleOp"> {
  let summary = "Writes the sizes that a profile is for as constants";
  let description = [{
    Requires: phase partitioned, verified: the local functions change, and are no
    longer those that the sharded ones say.
    Ensures: a symbol whose size `onnx.when` says is that constant in its
    function, from the inputs on. A step of decoding is then lowered for one
    position: what moves a dim of 1 is a window, not a copy.

    Example (tests/passes/lower/bind-sizes/example.mlir):

        func.func @stage0(%x: b s 2 8) attributes {onnx.when = {x = {dim = 1, size = 1}}}
          %0 = onnx.Transpose %x         // b 2 s 8
          %1 = onnx.Reshape %0           // b (2 s 8)

    becomes

        func.func @stage0(%x: b 1 2 8)
          %0 = onnx.Transpose %x         // b 2 1 8
          %1 = onnx.Reshape %0           // b 16: no copy
  }];
  let dependentDialects = ["::shardc::dist::DistDialect"];
  let statistics = [Statistic<"numBound", "bound", "Symbols that are constants">];
}

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

def FuseRows : Pass<"shardc-fuse-rows", "::mlir::ModuleOp"> {
  let summary = "Makes kernels of what stands between library calls";
  let description = [{
    Requires: phase lowered.
    Ensures: phase lowered. Calls that work row by row (elementwise ops, norms,
    softmax, rotary embeddings) and hand values on to each other are one call of an
    `rt.kernel`, as long as nothing between them has to stay between them; what only
    they read has no buffer any more. Equal bodies are one kernel. What runs once,
    integers and f64 stay with the backend's own kernels, as do rows whose columns
    are not next to each other.

    Example (tests/passes/lower/fuse-rows/example.mlir):

        rt.call "Swish"(%gate : b s 256) into(%a)
        rt.call "Mul"(%a, %up : b s 256) into(%y)

    becomes

        rt.call "rows_Swish_Mul_..."(%gate, %up) into(%y)

        rt.kernel @rows_Swish_Mul_... ["column", "column"] -> ["column"] {
        ^bb0(%gate: f32, %up: f32):
          ...
          %y = arith.mulf %a, %up : f32
          rt.yield %y : f32
        }
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::shardc::rt::RtDialect"];
  let statistics = [
    Statistic<"numFused", "fused", "Calls that became part of another one">,
    Statistic<"numKernels", "kernels", "Kernels, equal ones once">
  ];
}
