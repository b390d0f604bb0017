// Gemma's soft cap.
// RUN: shard-opt %s --shardc-recover-attention | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2, %arg3 {scale = 2.500000e-01 : f32, softcap = 5.000000e+01 : f32, zero_rows = "none"}
// CHECK-NEXT: return
func.func @main(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>, %mask: tensor<2x1x3x5xf32>) -> tensor<2x4x3x8xf32> {
  %cap = onnx.Constant {value = dense<50.0> : tensor<f32>} : () -> tensor<f32>
  %scale = onnx.Constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %scaled = onnx.Mul %qk, %scale : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %d = onnx.Div %scaled, %cap : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %t = onnx.Tanh %d : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %c = onnx.Mul %t, %cap : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %masked = onnx.Add %c, %mask : (tensor<2x4x3x5xf32>, tensor<2x1x3x5xf32>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %weights, %v : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}
