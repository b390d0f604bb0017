// Operands are transposed first; alpha scales the product.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @transposed(
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %arg0 {perm = array<i64: 0, 2, 1>} : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %arg1 {perm = array<i64: 0, 2, 1>} : {{.*}} -> tensor<?x96x64xf32, #dist.value<dims = [b, 96, 64]>>
// CHECK-NEXT: %[[MATMUL:.*]] = onnx.MatMul %[[TRANSPOSE]], %[[TRANSPOSE2]] : {{.*}} -> tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<1.250000e-01> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[MUL:.*]] = onnx.Mul %[[MATMUL]], %[[CONSTANT]] : {{.*}} -> tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>
// CHECK-NEXT: return %[[MUL]]
func.func @transposed(%a: tensor<?x96x?xf32, #dist.value<dims = [b, 96, s]>>, %c: tensor<?x64x96xf32, #dist.value<dims = [b, 64, 96]>>) -> (!u) {
  %y = onnx.microsoft.FusedMatMul %a, %c {alpha = 0.125 : f32, transA = 1 : i64, transB = 1 : i64} : (tensor<?x96x?xf32, #dist.value<dims = [b, 96, s]>>, tensor<?x64x96xf32, #dist.value<dims = [b, 64, 96]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @batch_transposed(
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %arg0 {perm = array<i64: 1, 0, 2>} : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[MATMUL:.*]] = onnx.MatMul %[[TRANSPOSE]], %arg1 : {{.*}} -> tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>
// CHECK-NEXT: return %[[MATMUL]]
func.func @batch_transposed(%a: tensor<?x?x96xf32, #dist.value<dims = [s, b, 96]>>, %c: tensor<?x96x64xf32, #dist.value<dims = [b, 96, 64]>>) -> (!u) {
  %y = onnx.microsoft.TransposeMatMul %a, %c {transBatchA = 1 : i64} : (tensor<?x?x96xf32, #dist.value<dims = [s, b, 96]>>, tensor<?x96x64xf32, #dist.value<dims = [b, 96, 64]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @activation(
// CHECK-NEXT: %[[GEMM:.*]] = onnx.Gemm %arg0, %arg1, %arg2 {transB = 1 : i64} : {{.*}} -> tensor<?x64xf32, #dist.value<dims = [s, 64]>>
// CHECK-NEXT: %[[LEAKYRELU:.*]] = onnx.LeakyRelu %[[GEMM]] {alpha = 5.000000e-01 : f32} : {{.*}} -> tensor<?x64xf32, #dist.value<dims = [s, 64]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[LEAKYRELU]] {perm = array<i64: 1, 0>} : {{.*}} -> tensor<64x?xf32, #dist.value<dims = [64, s]>>
// CHECK-NEXT: %[[MATMUL:.*]] = onnx.MatMul %[[LEAKYRELU]], %[[TRANSPOSE]] : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [s, s]>>
// CHECK-NEXT: %[[RELU:.*]] = onnx.Relu %[[MATMUL]] : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [s, s]>>
// CHECK-NEXT: return %[[RELU]]
func.func @activation(%a: tensor<?x96xf32, #dist.value<dims = [s, 96]>>, %c: tensor<64x96xf32>, %d: tensor<64xf32>) -> (!u) {
  %y = onnx.microsoft.FusedGemm %a, %c, %d {activation = "LeakyRelu", activation_alpha = 0.5 : f32, transB = 1 : i64} : (tensor<?x96xf32, #dist.value<dims = [s, 96]>>, tensor<64x96xf32>, tensor<64xf32>) -> !u
  %z = onnx.microsoft.FusedMatMulActivation %y, %y {activation = "Relu", transB = 1 : i64} : (!u, !u) -> !u
  return %z : !u
}
