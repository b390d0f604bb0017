// gpt-oss: one more column, which the softmax counts and the values do not.
// RUN: shard-opt %s --shardc-recover-attention | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[SINKS:.*]] = onnx.Reshape %arg4 : (tensor<1x4x1x1xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[NONE:.*]] = onnx.None
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2, %arg3, %[[NONE]], %[[NONE]], %[[NONE]], %[[SINKS]]
// CHECK-NEXT: return
func.func @main(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>, %mask: tensor<2x1x3x5xf32>, %sinks: tensor<1x4x1x1xf32>) -> tensor<2x4x3x8xf32> {
  %scale = onnx.Constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %scaled = onnx.Mul %qk, %scale : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %masked = onnx.Add %scaled, %mask : (tensor<2x4x3x5xf32>, tensor<2x1x3x5xf32>) -> tensor<2x4x3x5xf32>
  %e = onnx.Expand %sinks : (tensor<1x4x1x1xf32>) -> tensor<2x4x3x1xf32>
  %c = onnx.Concat %masked, %e {axis = 3 : i64} : (tensor<2x4x3x5xf32>, tensor<2x4x3x1xf32>) -> tensor<2x4x3x6xf32>
  %m = onnx.ReduceMax %c {axes = array<i64: 3>} : (tensor<2x4x3x6xf32>) -> tensor<2x4x3x1xf32>
  %d = onnx.Sub %c, %m : (tensor<2x4x3x6xf32>, tensor<2x4x3x1xf32>) -> tensor<2x4x3x6xf32>
  %w = onnx.Softmax %d {axis = 3 : i64} : (tensor<2x4x3x6xf32>) -> tensor<2x4x3x6xf32>
  %weights = onnx.Slice %w {bounds = #dist.dims<[0, 0, 0, 0]>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x3x6xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %weights, %v : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}
