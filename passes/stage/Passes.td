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
    weight of both. Caches are not sent, if that can be avoided. Profiles are cut
    at the same matrices, so that a stage has the same weights and caches in each.
    Of ops that say how long they will take (`dist.seconds`) stages of a `machine`
    take about equally long. Where a plan or annotations say the cuts, those are
    taken.

    (* example filepath=tests/passes/stage/cut-stages/two-stages.mlir *)
  }];
  let dependentDialects = ["::shardc::dist::DistDialect"];
  let options = [
    Option<"annotations", "annotations", "std::string", "\"\"",
           "JSON of stages that a model's file asks for: {\"nodes\": "
           "[{\"node\": NAME, \"stage\": S}]}; the cuts are where it says">,
    Option<"plan", "plan", "std::string", "\"\"",
           "JSON of a plan: its \"cuts\" (stage/PlannedCuts.h) or \"stages\" "
           "are taken in place of a search and of annotations">,
    Option<"planName", "plan-name", "std::string", "\"the plan\"",
           "What messages call the plan">,
    Option<"keepPlan", "keep-plan", "bool", "false",
           "Keep where it was cut as the attribute dist.stages">,
    Option<"machine", "machine", "std::string", "\"\"",
           "PRESET:NODESxDEVICES or the text of a machine file "
           "(plan/machine/ReadMachine.h)">
  ];
  let statistics = [
    Statistic<"numTransfers", "transfers", "Values sent between stages">
  ];
}

def ScatterTransfers : Pass<"shardc-scatter-transfers", "::mlir::ModuleOp"> {
  let summary = "Has ranks send parts of what they hold alike";
  let description = [{
    Requires: phase staged.
    Ensures: phase staged. Of a value that the ranks of a stage hold alike each
    sends a part, and the receivers gather the parts (plan/cost/TransferCost.h),
    where that is predicted to be faster: where stages are on other nodes, links
    inside of a node are fast, and the value is large. A `dist.reshard` stands on
    both sides of such a transfer. Without a machine nothing changes.

    (* example filepath=tests/passes/stage/scatter-transfers/example.mlir *)
  }];
  let dependentDialects = ["::shardc::dist::DistDialect"];
  let options = [
    Option<"machine", "machine", "std::string", "\"\"",
           "PRESET:NODESxDEVICES or the text of a machine file "
           "(plan/machine/ReadMachine.h)">,
    ListOption<"planSizes", "plan-sizes", "std::string",
               "NAME=SIZE: of a typical request">
  ];
  let statistics = [
    Statistic<"numScattered", "scattered", "Transfers that go in parts">
  ];
}
