//===- Passes.td - From imported to sharded -------------------------------===//

include "mlir/Pass/PassBase.td"

def PropagateShardings : Pass<"shardc-propagate-shardings", "::mlir::ModuleOp"> {
  let summary = "Chooses how every value is split and writes it into its type";
  let description = [{
    Requires: phase imported and a `dist.mesh`.
    Ensures: phase sharded. Every tensor type carries a sharding; the operands
    and results of each op satisfy its rule; every change of sharding is an
    explicit `dist.reshard` that says why.

    Where each row of a batch is computed by itself, the inputs that have it as their
    first dim are noted as `dist.batch_inputs`; else, with micro-batches, it is said
    why a request cannot run in parts.

    A plan is a value: `keep-plan` leaves it on the module as JSON, `plan` takes
    one instead of a search, and `pins` and `annotations` are shardings that a
    search starts from.
    Of a typical request (`plan-sizes`) splits of weights are chosen by predicted
    time, where no plan, pin or annotation decides them; else without sizes.
    `alternatives-of` leaves on the module what other shardings of a node would cost.

    Sums whose parts the ranks hold are added as parts where that saves a
    collective: attention and MLP that stand side by side have one.

    An axis "ep" splits the experts of a mixture and, outside of one, whatever
    "tp" splits, or the batch (`expert-mode`); "cp" splits sequences. "pp" and "dp" split no value. How
    attention then sees all keys is `context-mode`: their parts come in turn
    ("ring"), each rank gets some heads of all positions instead ("ulysses"), or
    all parts are put together ("gather").

    (* example filepath=tests/passes/shard/propagate-shardings/example.mlir *)
  }];
  let dependentDialects = ["::shardc::dist::DistDialect"];
  let options = [
    Option<"sequenceParallel", "sequence-parallel", "bool", "false",
           "Split what tensor parallelism leaves whole over the sequence">,
    Option<"microBatches", "micro-batches", "int64_t", "1",
           "Parts of a request that may be in a pipeline at once">,
    Option<"contextMode", "context-mode", "std::string", "\"ring\"",
           "How attention over a split sequence sees all keys: ring, ulysses "
           "or gather">,
    Option<"expertMode", "expert-mode", "std::string", "\"auto\"",
           "What \"ep\" splits outside of experts: tensor, batch, or auto, the "
           "cheaper of both where it is known how many rows there are">,
    ListOption<"planSizes", "plan-sizes", "std::string",
               "NAME=SIZE: of a typical request, for choices by cost">,
    Option<"plan", "plan", "std::string", "\"\"",
           "JSON of a plan that is there, as keep-plan leaves it: nothing is "
           "searched">,
    Option<"planName", "plan-name", "std::string", "\"the plan\"",
           "What messages call the plan">,
    ListOption<"pins", "pins", "std::string",
               "NODE=SHARDING (plan/Pins.h): what the search leaves as it is">,
    Option<"annotations", "annotations", "std::string", "\"\"",
           "JSON of what a model's file says of its nodes' tensors "
           "(plan/Annotations.h): {\"outputs\": {NODE: [TENSOR]}, \"nodes\": "
           "[...]}; the search leaves it as it is">,
    Option<"keepPlan", "keep-plan", "bool", "false",
           "Leave the plan on the module, as dist.plan">,
    Option<"alternativesOf", "alternatives-of", "std::string", "\"\"",
           "Name of a node, or weight, to price the alternatives of">,
    ListOption<"alternativeSizes", "alternative-sizes", "std::string",
               "NAME=SIZE: of the request that they are priced for, and that is predicted">,
    Option<"predicts", "predicts", "bool", "false",
           "Leave on the module what a run is predicted to take, as dist.predicted">,
    Option<"machine", "machine", "std::string", "\"\"",
           "For choices by cost: PRESET:NODESxDEVICES or the text of a machine "
           "file (plan/machine/ReadMachine.h); as it is, one node of H100s">
  ];
  let statistics = [
    Statistic<"numSplitOps", "split-ops", "Ops that some axis splits">,
    Statistic<"numReshards", "reshards", "Changes of sharding">
  ];
}
