// A reversal by default; no Transpose if nothing moves.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @default(
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %arg0 {perm = array<i64: 2, 1, 0>} : {{.*}} -> tensor<96x?x?xf32, #dist.value<dims = [96, s, b]>>
// CHECK-NEXT: return %[[TRANSPOSE]]
func.func @default(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %y = onnx.Transpose %x : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @identity(
// CHECK-NEXT: return %arg0
func.func @identity(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %y = onnx.Transpose %x {perm = array<i64: 0, 1, 2>} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @known(
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<{{\[\[}}1, 3], [2, 4]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
// CHECK-NEXT: return %[[CONSTANT]]
func.func @known(%x: tensor<4x6xf32>) -> (!u) {
  %c = onnx.Constant {value = dense<[[1,2],[3,4]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
  %y = onnx.Transpose %c : (tensor<2x2xi64>) -> !u
  return %y : !u
}
