//===- Passes.td - From sharded to staged ---------------------------------===//

include "mlir/Pass/PassBase.td"

def CutStages : Pass<"shardc-cut-stages", "::mlir::ModuleOp"> {
  let summary = "Makes one function per pipeline stage";
  let description = [{
    Requires: phase sharded, functions @main, @main_1, ... (one a profile).
    Ensures: phase staged: functions @stage0, @stage1, ... of which each sees
    another's values only through a `dist.send` and its `dist.receive`. Every
    stage has all inputs of the model and returns the outputs that it makes.

    There are as many stages as the mesh's axis "pp" has ways. Masks, positions
    and whatever else depends on inputs and vectors alone is computed in every
    stage that needs it; a matrix that two stages use (a tied embedding) is a
    weight of both. Caches are not sent, if that can be avoided. Profiles are cut at the same matrices, so that a stage has
    the same weights and caches in each.

    (* example filepath=tests/passes/stage/cut-stages/two-stages.mlir *)
  }];
  let dependentDialects = ["::shardc::dist::DistDialect"];
  let statistics = [
    Statistic<"numTransfers", "transfers", "Values sent between stages">
  ];
}
