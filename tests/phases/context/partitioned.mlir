// Each rank sends every other one its share of what it has: all_to_all along one dim.
//
// RUN: shard-opt %S/imported.mlir --shardc-propagate-shardings --shardc-cut-stages --shardc-partition --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s
// RUN: shard-opt %S/imported.mlir --shardc-propagate-shardings=context-mode=ulysses --shardc-cut-stages --shardc-partition --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s --check-prefix=HEADS

// CHECK-LABEL: func.func @stage0(
// CHECK: dist.all_to_all %{{.*}} dim 2 to 2 over <["cp"=2]>
// CHECK: %[[K:.*]] = dist.all_to_all %{{.*}} dim 2 to 2 over <["cp"=2]>
// CHECK: dist.ring %[[K]] dim 2 over <["cp"=2]> steps [0, 1]
// CHECK: %[[A:.*]] = onnx.Attention
// CHECK: dist.all_to_all %[[A]] dim 2 to 2 over <["cp"=2]>
// CHECK-NOT: = dist.
// CHECK-LABEL: func.func private @stage0.sharded(

// HEADS-LABEL: func.func @stage0(
// HEADS-COUNT-3: dist.all_to_all %{{.*}} dim 2 to 1 over <["cp"=2]>
// HEADS: %[[A:.*]] = onnx.Attention {{.*}}local = [batch, 1, seq, 4]>>
// HEADS: dist.all_to_all %[[A]] dim 1 to 2 over <["cp"=2]>
// HEADS-LABEL: func.func private @stage0.sharded(
