// A range is a window; packed segments are copied one by one.
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s

!x = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{}, {}]>>
!heads = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{}, (4:"tp"=2, 4)]>>
!packed = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{}, [8: (2:"tp"=2, 4) | 8: (2:"tp"=2, 4)]]>>

dist.mesh @mesh <["tp"=2]>

// CHECK-LABEL: rt.program @range
// CHECK: %[[X:.*]] = rt.input
// CHECK: %[[H:.*]] = rt.view %[[X]] : <f32, [8, 8], [16, 1], @tp * 8>
// CHECK-NOT: "Copy"
// CHECK: rt.call "Relu"(%[[H]] :
func.func @range(%x: !x) -> !heads {
  %h = dist.reshard %x : !x to !heads
  %y = onnx.Relu %h : (!heads) -> !heads
  return %y : !heads
}

// CHECK-LABEL: rt.program @segments
// CHECK: %[[X:.*]] = rt.input
// CHECK-DAG: %[[FIRST:.*]] = rt.view %[[X]] : <f32, [8, 1, 4], [16, 4, 1], @tp * 4>
// CHECK-DAG: %[[SECOND:.*]] = rt.view %[[X]] : <f32, [8, 1, 4], [16, 4, 1], @tp * 4 + 8>
// CHECK: rt.call "Copy"(%[[FIRST]] :
// CHECK: rt.call "Copy"(%[[SECOND]] :
// CHECK: rt.call "Relu"
func.func @segments(%x: !x) -> !packed {
  %h = dist.reshard %x : !x to !packed
  %y = onnx.Relu %h : (!packed) -> !packed
  return %y : !packed
}
