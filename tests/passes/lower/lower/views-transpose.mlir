// Strides change places, bytes do not.
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s

!x = tensor<?x?x16xf32, #dist.value<dims = [b, s, 16], sharding = [{}, {}, {}]>>
!t = tensor<?x16x?xf32, #dist.value<dims = [b, 16, s], sharding = [{}, {}, {}]>>

dist.mesh @mesh <["tp"=2]>

func.func @stage0(%x: !x) -> !t {
  %t = onnx.Transpose %x {perm = array<i64: 0, 2, 1>} : (!x) -> !t
  %y = onnx.Relu %t : (!t) -> !t
  return %y : !t
}

// CHECK: %[[X:.*]] = rt.input
// CHECK: %[[T:.*]] = rt.view %[[X]] : <f32, [b, 16, s], [s * 16, 1, 16], 0, replicated>
// CHECK-NOT: "Copy"
// CHECK: rt.call "Relu"(%[[T]] :
