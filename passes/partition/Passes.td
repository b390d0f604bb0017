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
