// Two caches that grow by different sizes: neither is the sequence.
// RUN: shard-opt %s --shardc-recover-caches --shardc-specialize-steps | FileCheck %s

!a = tensor<?x4xf32, #dist.value<dims = [a, 4]>>
!s = tensor<?x4xf32, #dist.value<dims = [s, 4]>>
!t = tensor<?x4xf32, #dist.value<dims = [t, 4]>>
!as = tensor<?x4xf32, #dist.value<dims = [a + s, 4]>>
!at = tensor<?x4xf32, #dist.value<dims = [a + t, 4]>>

// CHECK: onnx.cache
// CHECK-NOT: onnx.profile
func.func @main(%p: !a {onnx.name = "p"}, %q: !a {onnx.name = "q"}, %x: !s {onnx.name = "x"}, %y: !t {onnx.name = "y"}) -> (!as, !at) {
  %0 = onnx.Concat %p, %x {axis = 0 : i64} : (!a, !s) -> !as
  %1 = onnx.Concat %q, %y {axis = 0 : i64} : (!a, !t) -> !at
  return %0, %1 : !as, !at
}
