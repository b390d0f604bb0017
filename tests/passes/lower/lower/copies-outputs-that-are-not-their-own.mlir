// An output owns its bytes: an input that is passed through, or a window on
// something else, is copied.
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s

!x = tensor<?x4xf32, #dist.value<dims = [s, 4], sharding = [{}, {}]>>
!t = tensor<4x?xf32, #dist.value<dims = [4, s], sharding = [{}, {}]>>

dist.mesh @mesh <["tp"=2]>

func.func @stage0(%x: !x) -> (!x, !t) {
  %a = onnx.Relu %x : (!x) -> !x
  %t = onnx.Transpose %a {perm = array<i64: 1, 0>} : (!x) -> !t
  return %x, %t : !x, !t
}

// CHECK: %[[X:.*]] = rt.input
// CHECK: %[[FROM:.*]] = rt.view %[[X]]
// CHECK: %[[A:.*]] = rt.alloc
// CHECK: %[[T:.*]] = rt.view %[[A]] : <f32, [4, s], [1, 4], 0, replicated>
// CHECK: rt.call "Relu"
// CHECK: rt.call "Copy"(%[[FROM]] :
// CHECK: rt.output 0
// CHECK: rt.call "Copy"(%[[T]] :
// CHECK: rt.free %[[A]]
// CHECK: rt.output 1
