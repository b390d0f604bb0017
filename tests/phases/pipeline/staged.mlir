// The layer of one-layer/imported.mlir in two stages. Each sees the input; the residual
// between attention and MLP is sent, as each rank holds it.
//
// RUN: sed 's/<\["tp"=2\]>/<["pp"=2, "tp"=2]>/' %S/../one-layer/imported.mlir | shard-opt --shardc-propagate-shardings --shardc-cut-stages --shardc-verify-phase="phase=staged allows-unrecorded=true" | FileCheck %s

// CHECK: dist.mesh @mesh <["pp"=2, "tp"=2]>
// CHECK-LABEL: func.func @stage0(
// CHECK: name = "embed"
// CHECK: name = "wo"
// CHECK: %[[SUM:.*]] = dist.reshard {{.*}}partial = {"tp"=2: sum}>> to
// CHECK: %[[RESIDUAL:.*]] = onnx.Add %{{.*}}, %[[SUM]]
// CHECK: dist.send %[[RESIDUAL]] to 1 as 0
// CHECK-NEXT: return

// CHECK-LABEL: func.func @stage1(
// CHECK: name = "gate"
// CHECK: name = "head"
// CHECK: %[[RESIDUAL:.*]] = dist.receive from 0 as 0
// CHECK: onnx.RMSNormalization %[[RESIDUAL]]
// CHECK: return %{{.*}} : tensor<{{[^>]*}}sharding = [{}, {}, {"tp"=2}]>>
