// No input has by itself the size that a run appends.
// RUN: shard-opt %s --shardc-recover-caches --shardc-specialize-steps | FileCheck %s

!a = tensor<?x4xf32, #dist.value<dims = [a, 4]>>
!s = tensor<?x4xf32, #dist.value<dims = [s, 4]>>
!double = tensor<?x4xf32, #dist.value<dims = [2 * s, 4]>>
!a2 = tensor<?x4xf32, #dist.value<dims = [a + 2 * s, 4]>>

// CHECK: onnx.cache
// CHECK-NOT: onnx.profile
func.func @main(%p: !a {onnx.name = "p"}, %x: !s {onnx.name = "x"}) -> !a2 {
  %0 = onnx.Concat %x, %x {axis = 0 : i64} : (!s, !s) -> !double
  %1 = onnx.Concat %p, %0 {axis = 0 : i64} : (!a, !double) -> !a2
  return %1 : !a2
}
