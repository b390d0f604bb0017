// A loop's body is not followed, nor what a branch gives whose sizes it decides: that is said.
// RUN: shard-opt %S/../../../lower/lower/brackets-branches-and-loops.mlir --shardc-to-lowered 2>&1 >/dev/null | FileCheck %s

// CHECK: remark: verify-phase: of 4 ops of stage0.partitioned, 4 are not compared with instructions; this is the first
