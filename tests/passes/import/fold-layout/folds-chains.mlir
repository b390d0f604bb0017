// Reshape of a Reshape, Transpose of a Transpose.
// RUN: shard-opt %s --shardc-infer-shapes --shardc-fold-layout | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @reshapes(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x6x16xf32, #dist.value<dims = [b * s, 6, 16]>>
// CHECK-NEXT: return %[[RESHAPE]]
func.func @reshapes(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %t = onnx.Constant {value = dense<[-1,96]> : tensor<2xi64>} : () -> tensor<2xi64>
  %u = onnx.Constant {value = dense<[-1,6,16]> : tensor<3xi64>} : () -> tensor<3xi64>
  %a = onnx.Reshape %x, %t : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<2xi64>) -> !u
  %b = onnx.Reshape %a, %u : (!u, tensor<3xi64>) -> !u
  return %b : !u
}

// CHECK-LABEL: func.func @and_back(
// CHECK-NEXT: return %arg0
func.func @and_back(%x: tensor<4x96xf32>) -> (!u) {
  %t = onnx.Constant {value = dense<[-1]> : tensor<1xi64>} : () -> tensor<1xi64>
  %u = onnx.Constant {value = dense<[4,96]> : tensor<2xi64>} : () -> tensor<2xi64>
  %a = onnx.Reshape %x, %t : (tensor<4x96xf32>, tensor<1xi64>) -> !u
  %b = onnx.Reshape %a, %u : (!u, tensor<2xi64>) -> !u
  return %b : !u
}

// CHECK-LABEL: func.func @transposes(
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %arg0 {perm = array<i64: 0, 2, 1>} : {{.*}} -> tensor<?x96x?xf32, #dist.value<dims = [b, 96, s]>>
// CHECK-NEXT: return %[[TRANSPOSE]]
func.func @transposes(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %a = onnx.Transpose %x {perm = array<i64: 1, 2, 0>} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> !u
  %b = onnx.Transpose %a {perm = array<i64: 2, 1, 0>} : (!u) -> !u
  return %b : !u
}

// CHECK-LABEL: func.func @transpose_behind_a_chain(
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %arg0 {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<1x6x5x16xf32>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %arg0 {perm = array<i64: 0, 2, 3, 1>} : {{.*}} -> tensor<1x6x16x5xf32>
// CHECK-NEXT: return %[[TRANSPOSE]], %[[TRANSPOSE2]]
func.func @transpose_behind_a_chain(%x: tensor<1x5x6x16xf32>) -> (!u, !u) {
  %h = onnx.Transpose %x {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x5x6x16xf32>) -> !u
  %t = onnx.Constant {value = dense<[-1,5,16]> : tensor<3xi64>} : () -> tensor<3xi64>
  %m = onnx.Reshape %h, %t : (!u, tensor<3xi64>) -> !u
  %b = onnx.Transpose %m {perm = array<i64: 0, 2, 1>} : (!u) -> !u
  %u = onnx.Constant {value = dense<[1,6,16,5]> : tensor<4xi64>} : () -> tensor<4xi64>
  %c = onnx.Reshape %b, %u : (!u, tensor<4xi64>) -> !u
  return %h, %c : !u, !u
}

// CHECK-LABEL: func.func @transposes_back(
// CHECK-NEXT: return %arg0
func.func @transposes_back(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %a = onnx.Transpose %x {perm = array<i64: 1, 2, 0>} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> !u
  %b = onnx.Transpose %a {perm = array<i64: 2, 0, 1>} : (!u) -> !u
  return %b : !u
}
