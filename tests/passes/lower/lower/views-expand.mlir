// A repeated dim has stride 0.
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s

!kv = tensor<?x2x1x?x4xf32, #dist.value<dims = [b, 2, 1, s, 4], sharding = [{}, {"tp"=2}, {}, {}, {}]>>
!heads = tensor<?x2x3x?x4xf32, #dist.value<dims = [b, 2, 3, s, 4], sharding = [{}, {"tp"=2}, {}, {}, {}]>>

dist.mesh @mesh <["tp"=2]>

func.func @stage0(%x: !kv) -> !heads {
  %e = onnx.Expand %x : (!kv) -> !heads
  %y = onnx.Relu %e : (!heads) -> !heads
  return %y : !heads
}

// CHECK: %[[X:.*]] = rt.input
// CHECK: %[[E:.*]] = rt.view %[[X]] : <f32, [b, 1, 3, s, 4], [s * 4, {{.*}}, 0, 4, 1], 0>
// CHECK-NOT: "Copy"
// CHECK: rt.call "Relu"(%[[E]] :
