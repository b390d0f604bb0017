// Attention with a mask, as before there was an op for it.
// RUN: shard-opt %s --shardc-recover-attention | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[ATTENTION:.*]] = onnx.Attention %arg0, %arg1, %arg2, %arg3 {scale = 2.500000e-01 : f32, zero_rows = "none"} : (tensor<2x4x3x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>, tensor<2x1x3x5xf32>) -> tensor<2x4x3x8xf32>
// CHECK-NEXT: return %[[ATTENTION]]
func.func @main(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>, %mask: tensor<2x1x3x5xf32>) -> tensor<2x4x3x8xf32> {
  %scale = onnx.Constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %scaled = onnx.Mul %qk, %scale : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %masked = onnx.Add %scaled, %mask : (tensor<2x4x3x5xf32>, tensor<2x1x3x5xf32>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %weights, %v : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}
