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

    (* example filepath=tests/passes/lower/bind-sizes/example.mlir *)
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
    its last use. Quantised weights are operands of their product, and bytes of both
    operands where they are eight bits of float (ops/Quantization.h). The sharded
    function is gone; the local one stays as @NAME.partitioned, for verify-phase. In the caches of a target other than
    the host, positions lie outside of heads, so that memory can come as they do.

    (* example filepath=tests/passes/lower/lower/example.mlir *)
  }];
  let dependentDialects = ["::shardc::rt::RtDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"",
                        "Backend that the artifact is for">];
}

def FuseRows : Pass<"shardc-fuse-rows", "::mlir::ModuleOp"> {
  let summary = "Makes kernels of what stands between library calls";
  let description = [{
    Requires: phase lowered.
    Ensures: phase lowered. Calls that work row by row (elementwise ops, norms,
    softmax, rotary embeddings) and hand values on to each other are one call of an
    `rt.kernel`, as long as nothing between them has to stay between them; what only
    they read has no buffer any more. Equal bodies are one kernel. The call keeps what
    it stands for (dialects/rt/Provenance.h). What runs once,
    integers and f64 stay with the backend's own kernels, as do rows whose columns
    are not next to each other. For a GPU a bias, a residual and an activation that
    would be a kernel of their own are the product's instead (rows/Epilogue.h).

    (* example filepath=tests/passes/lower/fuse-rows/example.mlir *)
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::shardc::rt::RtDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"",
                        "Backend that the artifact is for">];
  let statistics = [
    Statistic<"numFused", "fused", "Calls that became part of another one">,
    Statistic<"numFolded", "folded", "Calls that became part of a product">,
    Statistic<"numKernels", "kernels", "Kernels, equal ones once">
  ];
}

def MergeProducts : Pass<"shardc-merge-products", "::mlir::ModuleOp"> {
  let summary = "Makes one product of several of the same operand";
  let description = [{
    Requires: phase lowered.
    Ensures: phase lowered. Products of one operand with weights that nobody else
    reads, and whose results calls alone read, are one product with the weights side
    by side: queries, keys and values, gate and up. The results are windows on its
    rows, so nothing is copied, neither weights, which are loaded side by side, nor
    results. A GPU then launches one kernel that reads more, where small matrices
    leave it idle. Quantised weights come with their scales and zero points, and
    products with equal epilogues with their biases: those are copied side by side
    once (JoinedOperands.h). Stay as they are products with a residual, those of
    which both operands are eight bits of float, and weights of 4 bits whose rows
    end within a byte.

    (* example filepath=tests/passes/lower/merge-products/example.mlir *)
  }];
  let dependentDialects = ["::shardc::rt::RtDialect"];
  let statistics = [Statistic<"numMerged", "merged", "Products that are gone">];
}

def ScheduleGathers : Pass<"shardc-schedule-gathers", "::mlir::ModuleOp"> {
  let summary = "Puts weights that ranks share out together a layer ahead";
  let description = [{
    Requires: phase lowered.
    Ensures: phase lowered. An all_gather of a weight of which each rank along "fsdp"
    holds a part stands a layer before the weight's first use: as early as no more
    than a layer's weights are there beside it (overlap/GatherSchedule.h). So its
    parts may travel while that layer is computed, and never are there more than two
    layers, or one weight that is larger by itself.

    (* example filepath=tests/passes/lower/schedule-gathers/example.mlir *)
  }];
  let dependentDialects = ["::shardc::rt::RtDialect"];
  let statistics = [
    Statistic<"numAhead", "ahead", "Gathers that start before their use">
  ];
}

def OverlapCollectives : Pass<"shardc-overlap-collectives", "::mlir::ModuleOp"> {
  let summary = "Lets collectives run beside products";
  let description = [{
    Requires: phase lowered.
    Ensures: phase lowered. A product before an all_reduce or reduce_scatter, or
    products behind an all_gather, are cut by rows, where the prediction
    (plan/OverlapCost.h) says that it saves time; then each collective starts as
    early as its input allows, and is awaited where somebody needs what it writes.
    Rows are independent: each is computed from what it was computed from. Where a rank's own cores do
    its collectives (target "host"), nothing changes unless `parts` says so.

    (* example filepath=tests/passes/lower/overlap-collectives/example.mlir *)
  }];
  let dependentDialects = ["::shardc::rt::RtDialect"];
  let options = [
    Option<"parts", "parts", "std::string", "\"auto\"",
           "auto: as the prediction says; off; or so many parts of each">,
    Option<"target", "target", "std::string", "\"host\"",
           "Backend that the artifact is for">,
    ListOption<"planSizes", "plan-sizes", "std::string",
               "NAME=SIZE: of a typical request, for the prediction">,
    Option<"machine", "machine", "std::string", "\"\"",
           "PRESET:NODESxDEVICES or the text of a machine file "
           "(plan/machine/ReadMachine.h); as it is, one node of H100s">
  ];
  let statistics = [
    Statistic<"numSplit", "split", "Collectives in parts">,
    Statistic<"numStarted", "started", "Collectives that something runs beside">
  ];
}
