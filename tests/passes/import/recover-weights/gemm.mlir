// A Gemm becomes a product, which reads the weight as it is stored, and what it does
// besides.
// RUN: shard-opt %s --shardc-recover-weights | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: %[[W:.*]] = onnx.DequantizeLinear {{.*}} : (tensor<4x8xi8>, tensor<4x1xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: %[[T:.*]] = onnx.Transpose %[[W]] {perm = array<i64: 1, 0>}
// CHECK-NEXT: %[[P:.*]] = onnx.MatMul %arg0, %[[T]]
// CHECK-NEXT: %[[Y:.*]] = onnx.Add %[[P]], %arg1
// CHECK-NOT: onnx.Gemm
// CHECK: return %[[Y]]
func.func @main(%x: tensor<2x8xf32>, %c: tensor<4xf32>) -> tensor<2x4xf32> {
  %q = onnx.Weight {file = "w", length = 32 : i64, name = "q", offset = 0 : i64} : () -> tensor<4x8xi8>
  %s = onnx.Weight {file = "w", length = 16 : i64, name = "s", offset = 64 : i64} : () -> tensor<4x1xf32>
  %1 = onnx.Cast %q : (tensor<4x8xi8>) -> tensor<4x8xf32>
  %2 = onnx.Mul %1, %s : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %y = onnx.Gemm %x, %2, %c {alpha = 1.0 : f32, beta = 1.0 : f32, transA = 0 : i64, transB = 1 : i64} : (tensor<2x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// Of floats it stays.
// CHECK-LABEL: func.func @floats(
// CHECK: onnx.Gemm
func.func @floats(%x: tensor<2x8xf32>, %c: tensor<4xf32>) -> tensor<2x4xf32> {
  %w = onnx.Weight {file = "w", length = 128 : i64, name = "f", offset = 128 : i64} : () -> tensor<4x8xf32>
  %y = onnx.Gemm %x, %w, %c {alpha = 1.0 : f32, beta = 1.0 : f32, transA = 0 : i64, transB = 1 : i64} : (tensor<2x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
