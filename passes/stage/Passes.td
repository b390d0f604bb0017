//===- Passes.td - From sharded to staged ---------------------------------===//

include "mlir/Pass/PassBase.td"

def CutStages : Pass<"shardc-cut-stages", "::mlir::ModuleOp"> {
  let summary = "Makes one function per pipeline stage";
  let description = [{
    Requires: phase sharded, one function @main.
    Ensures: phase staged: functions @stage0, @stage1, ... of which each sees
    another's values only through a `dist.transfer`.

    There is one stage for now: @main becomes @stage0.

    Example (tests/passes/stage/cut-stages/example.mlir):

        func.func @main(...)        becomes        func.func @stage0(...)
  }];
}
