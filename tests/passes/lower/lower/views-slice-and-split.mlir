// Windows at an offset. A packed q|k|v is cut where this rank's parts lie.
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s

!qkv = tensor<?x48xf32, #dist.value<dims = [s, 48], sharding = [{}, [16: (4:"tp"=2, 4) | 16: (4:"tp"=2, 4) | 16: (4:"tp"=2, 4)]]>>
!q = tensor<?x16xf32, #dist.value<dims = [s, 16], sharding = [{}, (4:"tp"=2, 4)]>>
!x = tensor<?x16xf32, #dist.value<dims = [s, 16], sharding = [{}, {}]>>
!half = tensor<?x8xf32, #dist.value<dims = [s, 8], sharding = [{}, {}]>>

dist.mesh @mesh <["tp"=2]>

// CHECK-LABEL: rt.program @split
// CHECK: %[[X:.*]] = rt.input
// CHECK-DAG: %[[Q:.*]] = rt.view %[[X]] : <f32, [s, 8], [24, 1], 0>
// CHECK-DAG: %[[V:.*]] = rt.view %[[X]] : <f32, [s, 8], [24, 1], 16>
// CHECK: rt.call "Add"(%[[Q]], %[[V]] :
func.func @split(%x: !qkv) -> !q {
  %q, %k, %v = onnx.Split %x {axis = 1 : i64} : (!qkv) -> (!q, !q, !q)
  %y = onnx.Add %q, %v : (!q, !q) -> !q
  return %y : !q
}

// CHECK-LABEL: rt.program @every_second
// CHECK: %[[X:.*]] = rt.input
// CHECK: %[[H:.*]] = rt.view %[[X]] : <f32, [s, 8], [16, 2], 1, replicated>
// CHECK: rt.call "Relu"(%[[H]] :
func.func @every_second(%x: !x) -> !half {
  %h = onnx.Slice %x {bounds = #dist.dims<[0, 1]>, steps = array<i64: 1, 2>} : (!x) -> !half
  %y = onnx.Relu %h : (!half) -> !half
  return %y : !half
}
