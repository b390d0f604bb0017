//===- Passes.td - What each phase guarantees -----------------------------===//

include "mlir/Pass/PassBase.td"

def VerifyPhase : Pass<"shardc-verify-phase", "::mlir::ModuleOp"> {
  let summary = "Checks the guarantee of a phase; errors name the first breach";
  let description = [{
    Requires: a module in the phase that `phase` names.
    Ensures: nothing changes; fails unless the phase's guarantee holds.

    imported:    every op is known, every size is known symbolically.
    sharded, staged: each op's operands and results satisfy its rule, and the
                 outputs are the terms that the imported model computes.
    partitioned: abstract interpretation. Each local value is (term, sharding,
                 partial); ops map terms, collectives change only the last two;
                 every output must carry the term and the sharding that the
                 sharded function gives it. No collective may be without effect.
                 What the program of a stage sends, a later one receives, once
                 and held alike.
    lowered:     the functions that programs were made of are the terms that the
                 imported model computes, and each is that of one program, which
                 says the same of requests, stage and caches
                 (lowered/Programs.h). Every buffer is written before it is read,
                 and within its lifetime. Each program is walked from its outputs back beside
                 the function that it was made of (rt.partitioned), at two ranks
                 and choices of sizes: some elements of all that an instruction
                 reads must be those that the op reads that it is there for, and
                 kernel, configuration, group and sizes those of the op
                 (lowered/Refinement.h), and bodies of generated kernels give
                 what those ops do (lowered/KernelBodies.h). Loops are not
                 followed.

    Terms are fingerprints of what a value means: op, attributes, operands,
    global sizes. `shardc-fingerprint` records those of the imported outputs, so
    that changing program and plan alike does not go unnoticed.

    (* example filepath=tests/passes/verify/verify-phase/example.mlir *)
  }];
  let options = [
    Option<"phase", "phase", "std::string", "", "The phase to check">,
    Option<"allowsUnrecorded", "allows-unrecorded", "bool", "false",
           "Whether functions without a fingerprint pass, which are compared "
           "with none: for tests of one pass">
  ];
}

def Fingerprint : Pass<"shardc-fingerprint", "::mlir::ModuleOp"> {
  let summary = "Records what the imported model computes";
  let description = [{
    Requires: phase imported.
    Ensures: function attribute `onnx.fingerprint`, over the terms of all outputs,
    names, given types and caches, all guards, and the place among the profiles.
    From here on verify-phase refuses functions without it.

    (* example filepath=tests/passes/verify/fingerprint/example.mlir *)
  }];
}
