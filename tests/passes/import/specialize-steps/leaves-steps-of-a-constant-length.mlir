// A run appends one position always: there is nothing to tell apart.
// RUN: shard-opt %s --shardc-recover-caches --shardc-specialize-steps | FileCheck %s

!a = tensor<?x4xf32, #dist.value<dims = [a, 4]>>
!one = tensor<1x4xf32>
!a1 = tensor<?x4xf32, #dist.value<dims = [a + 1, 4]>>

// CHECK: onnx.cache
// CHECK-NOT: onnx.profile
func.func @main(%p: !a {onnx.name = "p"}, %x: !one {onnx.name = "x"}) -> !a1 {
  %0 = onnx.Concat %p, %x {axis = 0 : i64} : (!a, !one) -> !a1
  return %0 : !a1
}
