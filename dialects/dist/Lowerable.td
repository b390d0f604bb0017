//===- Lowerable.td - Ops that become instructions ------------------------===//

#ifndef SHARDC_DIALECTS_DIST_LOWERABLE_TD
#define SHARDC_DIALECTS_DIST_LOWERABLE_TD

include "mlir/IR/Interfaces.td"

def LowerableOp : OpInterface<"LowerableOp"> {
  let cppNamespace = "::shardc::lower";
  let description = [{
    An op that phase partitioned may have. Its lowering is declared with it and
    defined under its family's name in `passes/lower/ops`; without a definition
    nothing links.
  }];
  let methods = [
    InterfaceMethod<[{
      Emits the instructions that compute it on a rank, and binds views to its
      results; emits an error at it where that is not possible.
    }], "::llvm::LogicalResult", "lower",
      (ins "::shardc::lower::Lowering &":$lowering)>
  ];
}

#endif // SHARDC_DIALECTS_DIST_LOWERABLE_TD
