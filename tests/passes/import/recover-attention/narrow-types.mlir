// The softmax of an f16 model in f32.
// RUN: shard-opt %s --shardc-recover-attention | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2, %arg3 {{.*}} : (tensor<2x4x3x8xf16>, tensor<2x4x5x8xf16>, tensor<2x4x5x8xf16>, tensor<2x1x3x5xf16>) -> tensor<2x4x3x8xf16>
// CHECK-NEXT: return
func.func @main(%q: tensor<2x4x3x8xf16>, %k: tensor<2x4x5x8xf16>, %v: tensor<2x4x5x8xf16>, %mask: tensor<2x1x3x5xf16>) -> tensor<2x4x3x8xf16> {
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf16>) -> tensor<2x4x8x5xf16>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf16>, tensor<2x4x8x5xf16>) -> tensor<2x4x3x5xf16>
  %masked = onnx.Add %qk, %mask : (tensor<2x4x3x5xf16>, tensor<2x1x3x5xf16>) -> tensor<2x4x3x5xf16>
  %wide = onnx.Cast %masked : (tensor<2x4x3x5xf16>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %wide {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %narrow = onnx.Cast %weights : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf16>
  %y = onnx.MatMul %narrow, %v : (tensor<2x4x3x5xf16>, tensor<2x4x5x8xf16>) -> tensor<2x4x3x8xf16>
  return %y : tensor<2x4x3x8xf16>
}
