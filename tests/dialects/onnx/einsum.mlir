// Products with a letter to sum are matrix products, others are broadcast.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>
!q = tensor<?x8x?x4xf32, #dist.value<dims = [b, 8, s, 4]>>
!k = tensor<?x8x?x4xf32, #dist.value<dims = [b, 8, t, 4]>>

// CHECK-LABEL: func.func @scores(
// CHECK-NEXT: %[[K:.*]] = onnx.Transpose %arg1 {perm = array<i64: 0, 1, 3, 2>}
// CHECK-NEXT: %[[S:.*]] = onnx.MatMul %arg0, %[[K]] : {{.*}} -> tensor<?x8x?x?xf32, #dist.value<dims = [b, 8, s, t]>>
// CHECK-NEXT: return %[[S]]
func.func @scores(%q: !q, %k: !k) -> (!u) {
  %y = onnx.Einsum %q, %k {equation = "bhid, bhjd -> bhij"} : (!q, !k) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @outer(
// CHECK: onnx.Mul {{.*}} -> tensor<?x3xf32, #dist.value<dims = [n, 3]>>
func.func @outer(%x: tensor<?xf32, #dist.value<dims = [n]>>, %y: tensor<3xf32>) -> (!u) {
  %z = onnx.Einsum %x, %y {equation = "i,j"} : (tensor<?xf32, #dist.value<dims = [n]>>, tensor<3xf32>) -> !u
  return %z : !u
}

// CHECK-LABEL: func.func @sum(
// CHECK-NEXT: onnx.ReduceSum %arg0 {axes = array<i64: 1>{{.*}} -> tensor<2xf32>
func.func @sum(%x: tensor<2x3xf32>) -> (!u) {
  %z = onnx.Einsum %x {equation = "...j->..."} : (tensor<2x3xf32>) -> !u
  return %z : !u
}
