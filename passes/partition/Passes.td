//===- Passes.td - From staged to partitioned -----------------------------===//

include "mlir/Pass/PassBase.td"

def Partition : Pass<"shardc-partition", "::mlir::ModuleOp"> {
  let summary = "Makes one local SPMD program per stage";
  let description = [{
    Requires: phase staged.
    Ensures: phase partitioned. Types have local sizes, each `dist.reshard` is a
    sequence of collectives over named mesh axes. The sharded function stays, as
    @stage0.sharded, for verify-phase.

    Example (tests/passes/partition/partition/example.mlir), tp = 2:

        %y = dist.reshard %p : tensor<..., partial = {"tp"=2: sum}> to tensor<...>

    becomes

        %y = dist.all_reduce %p over <["tp"=2]> "sum" : ...
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

    Example (tests/passes/partition/scatter-sums/example.mlir), tp = 2:

        %1 = dist.all_reduce %0 over <["tp"=2]> "sum"
        %2 = dist.slice %1

    becomes

        %2 = dist.reduce_scatter %0 dim 0 over <["tp"=2]> "sum"
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

    Example (tests/passes/partition/dispatch-tokens/example.mlir), ep = 2:

        %all = dist.all_gather %x dim 0 over <["ep"=2]>
        %y = onnx.MixtureOfExperts %all, %chosen, %weights, %up, %down
        %mine = dist.reduce_scatter %y dim 0 over <["ep"=2]> "sum"

    becomes

        %all = dist.dispatch %x by %chosen of 4 over <["ep"=2]>
        %y = onnx.MixtureOfExperts %all, %chosen, %weights, %up, %down
        %mine = dist.combine %y by %chosen of 4 over <["ep"=2]>
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
    gathered instead.

    Example (tests/passes/partition/move-gathers/example.mlir), tp = 2:

        %1 = dist.all_gather %0 dim 1 over <["tp"=2]>    // f32
        %2 = onnx.Cast %1 {to = f16}

    becomes

        %1 = onnx.Cast %0 {to = f16}
        %2 = dist.all_gather %1 dim 1 over <["tp"=2]>    // half the bytes
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

    Example (tests/passes/partition/merge-collectives/example.mlir), tp = 2:

        %1 = dist.all_reduce %max over <["tp"=2]> "max"
        %min = onnx.ReduceMin %x
        %2 = dist.all_reduce %min over <["tp"=2]> "min"

    becomes

        %min = onnx.ReduceMin %x
        %1 = dist.all_reduce %max over <["tp"=2]> "max" {dist.together = 0 : i64}
        %2 = dist.all_reduce %min over <["tp"=2]> "min" {dist.together = 0 : i64}
  }];
  let dependentDialects = ["::shardc::dist::DistDialect"];
  let statistics = [Statistic<"numMerged", "merged", "Collectives merged">];
}
