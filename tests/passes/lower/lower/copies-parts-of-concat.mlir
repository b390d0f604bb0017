// Each operand is copied once, into its window of the result.
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s

!past = tensor<?x4xf32, #dist.value<dims = [past, 4], sharding = [{}, {}]>>
!new = tensor<?x4xf32, #dist.value<dims = [seq, 4], sharding = [{}, {}]>>
!all = tensor<?x4xf32, #dist.value<dims = [past + seq, 4], sharding = [{}, {}]>>

dist.mesh @mesh <["tp"=2]>

func.func @stage0(%p: !past, %x: !new) -> !all {
  %y = onnx.Concat %p, %x {axis = 0 : i64} : (!past, !new) -> !all
  return %y : !all
}

// CHECK: %[[Y:.*]] = rt.alloc <[past * 16 + seq * 16]>
// CHECK-DAG: %[[HEAD:.*]] = rt.view %[[Y]] : <f32, [past, 4], [4, 1], 0, replicated>
// CHECK-DAG: %[[TAIL:.*]] = rt.view %[[Y]] : <f32, [seq, 4], [4, 1], past * 4, replicated>
// CHECK: rt.call "Copy"({{.*}}) into(%[[HEAD]] :
// CHECK: rt.call "Copy"({{.*}}) into(%[[TAIL]] :
// CHECK-NOT: "Copy"
// CHECK: rt.output
