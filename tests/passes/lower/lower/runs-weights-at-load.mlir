// What depends on weights alone runs before rt.ready, into persistent buffers.
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s

!x = tensor<?x16xf32, #dist.value<dims = [s, 16], sharding = [{}, {}]>>
!w = tensor<16x16xf32, #dist.value<dims = [16, 16], sharding = [{}, {}]>>
!half = tensor<16x16xf16, #dist.value<dims = [16, 16], sharding = [{}, {}]>>

dist.mesh @mesh <["tp"=2]>

func.func @stage0(%x: !x) -> !x {
  %h = onnx.Weight {name = "half", file = "w", offset = 64 : i64, length = 512 : i64} : () -> !half
  %w = onnx.Cast %h : (!half) -> !w
  %y = onnx.MatMul %x, %w : (!x, !w) -> !x
  return %y : !x
}

// CHECK: rt.weight "half" "w" at 64 length 512 f16
// CHECK: %[[W:.*]] = rt.alloc <[1024]> persistent
// CHECK: %[[VIEW:.*]] = rt.view %[[W]]
// CHECK: rt.call "Cast"
// CHECK: rt.ready
// CHECK-NOT: "Cast"
// CHECK: rt.call "MatMul"({{.*}}, %[[VIEW]] :
// CHECK-NOT: rt.free %[[W]]
