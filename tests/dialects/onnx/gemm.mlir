// Transposed operands, addends of each rank.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @plain(
// CHECK-NEXT: %[[GEMM:.*]] = onnx.Gemm %arg0, %arg1, %arg2 : {{.*}} -> tensor<?x32xf32, #dist.value<dims = [m, 32]>>
// CHECK-NEXT: return %[[GEMM]]
func.func @plain(%a: tensor<?x16xf32, #dist.value<dims = [m, 16]>>, %w: tensor<16x32xf32>, %c: tensor<32xf32>) -> (!u) {
  %y = onnx.Gemm %a, %w, %c : (tensor<?x16xf32, #dist.value<dims = [m, 16]>>, tensor<16x32xf32>, tensor<32xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @transposed(
// CHECK-NEXT: %[[GEMM:.*]] = onnx.Gemm %arg0, %arg1, %arg2 {transA = 1 : i64, transB = 1 : i64} : {{.*}} -> tensor<?x32xf32, #dist.value<dims = [m, 32]>>
// CHECK-NEXT: return %[[GEMM]]
func.func @transposed(%a: tensor<16x?xf32, #dist.value<dims = [16, m]>>, %w: tensor<32x16xf32>, %c: tensor<?x1xf32, #dist.value<dims = [m, 1]>>) -> (!u) {
  %y = onnx.Gemm %a, %w, %c {transA = 1 : i64, transB = 1 : i64} : (tensor<16x?xf32, #dist.value<dims = [16, m]>>, tensor<32x16xf32>, tensor<?x1xf32, #dist.value<dims = [m, 1]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @no_addend(
// CHECK-NEXT: %[[GEMM:.*]] = onnx.Gemm %arg0, %arg1 : {{.*}} -> tensor<?x32xf32, #dist.value<dims = [m, 32]>>
// CHECK-NEXT: return %[[GEMM]]
func.func @no_addend(%a: tensor<?x16xf32, #dist.value<dims = [m, 16]>>, %w: tensor<16x32xf32>) -> (!u) {
  %none = onnx.None : () -> none
  %y = onnx.Gemm %a, %w, %none : (tensor<?x16xf32, #dist.value<dims = [m, 16]>>, tensor<16x32xf32>, none) -> !u
  return %y : !u
}
