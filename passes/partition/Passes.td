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
