//===- Passes.td - From staged to partitioned -----------------------------===//

include "mlir/Pass/PassBase.td"

def Partition : Pass<"shardc-partition", "::mlir::ModuleOp"> {
  let summary = "Makes one local SPMD program per stage";
  let description = [{
    Requires: phase staged.
    Ensures: phase partitioned. Types have local sizes, each `dist.reshard` is a
    sequence of collectives over named mesh axes. A value that is held already in
    the sharding that is wanted is used, whatever the reshards between say. The
    sharded function stays, as @stage0.sharded, for verify-phase.

    (* example filepath=tests/passes/partition/partition/example.mlir *)
  }];
  let dependentDialects = ["::shardc::dist::DistDialect"];
  let statistics = [
    Statistic<"numCollectives", "collectives", "Collectives inserted">
  ];
}

def ScatterSums : Pass<"shardc-scatter-sums", "::mlir::ModuleOp"> {
  let summary = "Reduces only the part of a sum that a rank keeps";
  let description = [{
    Requires: phase partitioned.
    Ensures: phase partitioned. Where all uses of an all_reduce are slices that give
    each rank the same part of one dim over the same axes, a reduce_scatter gives it
    that part. The planner of Partition does so within one change of sharding; this
    pass does where a sum and a slice come from two, or from another tool.

    (* example filepath=tests/passes/partition/scatter-sums/example.mlir *)
  }];
  let dependentDialects = ["::shardc::dist::DistDialect"];
  let statistics = [
    Statistic<"numScattered", "scattered", "All_reduces replaced">
  ];
}

def DispatchTokens : Pass<"shardc-dispatch-tokens", "::mlir::ModuleOp"> {
  let summary = "Sends tokens only to the ranks whose experts they chose";
  let description = [{
    Requires: collectives, as Partition leaves them.
    Ensures: where the tokens of an onnx.MixtureOfExperts are split over the axes
    that split its experts, the all_gather that brings all tokens to all experts is
    a `dist.dispatch`, and the reduce_scatter of its result a `dist.combine`. Over
    other axes they stay. A gather that others need as well is not replaced. No
    token is dropped: a rank has room for all of them.

    (* example filepath=tests/passes/partition/dispatch-tokens/example.mlir *)
  }];
  let dependentDialects = [
    "::shardc::dist::DistDialect", "::shardc::onnx::OnnxDialect"
  ];
  let statistics = [
    Statistic<"numDispatches", "dispatches", "Gathers replaced">,
    Statistic<"numCombines", "combines", "Scattered sums replaced">
  ];
}

def MoveGathers : Pass<"shardc-move-gathers", "::mlir::ModuleOp"> {
  let summary = "Puts each all_gather where the fewest bytes cross";
  let description = [{
    Requires: phase partitioned.
    Ensures: phase partitioned. Where the only use of an all_gather makes
    something smaller of it (a cast to a narrower type, some positions of it),
    and its rule lets parts of the gathered dim pass, it runs first, on the
    parts; where what is gathered was made from something smaller, that is
    gathered instead. What is cut again behind it is not gathered at all.

    (* example filepath=tests/passes/partition/move-gathers/example.mlir *)
  }];
  let dependentDialects = ["::shardc::dist::DistDialect"];
  let statistics = [Statistic<"numMoved", "moved", "Ops that a gather passed">];
}

def MergeCollectives : Pass<"shardc-merge-collectives", "::mlir::ModuleOp"> {
  let summary = "Does small all_reduces together";
  let description = [{
    Requires: phase partitioned.
    Ensures: phase partitioned. All_reduces of a few bytes over the same axes,
    none of which waits for another, follow each other and have the same
    `dist.together`: they become one collective, on one buffer that holds their
    operands. Where sizes are not known when compiling, nothing is merged: to
    pack much costs more than to start a collective.

    (* example filepath=tests/passes/partition/merge-collectives/example.mlir *)
  }];
  let dependentDialects = ["::shardc::dist::DistDialect"];
  let statistics = [Statistic<"numMerged", "merged", "Collectives merged">];
}
