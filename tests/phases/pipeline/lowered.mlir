// One program for the ranks of each stage. What is received has a buffer of its own;
// the stage's weights and nothing else are in a program.
//
// RUN: sed 's/<\["tp"=2\]>/<["pp"=2, "tp"=2]>/' %S/../one-layer/imported.mlir | shard-opt --shardc-fingerprint --shardc-propagate-shardings --shardc-cut-stages --shardc-partition --shardc-lower --shardc-verify-phase=phase=lowered | FileCheck %s

// CHECK-LABEL: rt.program @stage0 attributes {dist.batch_inputs = array<i64: 0>, dist.stage = 0 : i64, rt.partitioned = @stage0.partitioned}
// CHECK-NOT: "head"
// CHECK: rt.collective "all_gather"
// CHECK: rt.collective "all_reduce"
// CHECK: rt.send %{{.*}} to 1 as 0 : <f32, [batch, seq, 16]
// CHECK-NOT: rt.output
// CHECK: func.func @stage0.partitioned

// CHECK-LABEL: rt.program @stage1 attributes {dist.batch_inputs = array<i64: 0>, dist.stage = 1 : i64, rt.partitioned = @stage1.partitioned}
// CHECK-NOT: "embed"
// CHECK: %[[BUFFER:.*]] = rt.alloc <[batch * seq * 64]>
// CHECK-NEXT: %[[VIEW:.*]] = rt.view %[[BUFFER]]
// CHECK-NEXT: rt.receive into %[[VIEW]] from 0 as 0 : <f32, [batch, seq, 16]
// CHECK: rt.collective "all_reduce"
// CHECK: rt.output 0 "logits"
