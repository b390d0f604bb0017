// All tokens through all experts, with weights that are 0 for most.
// RUN: shard-opt %s --shardc-recover-mixture-of-experts | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %{{.*}}, %[[CHOSEN:.*]] = onnx.TopK %arg1
// CHECK-NEXT: onnx.MixtureOfExperts %arg0, %[[CHOSEN]], %arg2, %arg3, %arg4 {activation = "gelu", gate = "halves"}
// CHECK-NEXT: return
func.func @main(%x: tensor<3x8xf32>, %logits: tensor<3x4xf32>, %weights: tensor<3x2xf32>, %up: tensor<4x8x10xf32>, %down: tensor<4x5x8xf32>) -> tensor<3x8xf32> {
  %zero = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %values, %top = onnx.TopK %logits {axis = 1 : i64} : (tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>)
  %z = onnx.Expand %zero : (tensor<f32>) -> tensor<3x4xf32>
  %r = onnx.ScatterElements %z, %top, %weights {axis = 1 : i64} : (tensor<3x4xf32>, tensor<3x2xi64>, tensor<3x2xf32>) -> tensor<3x4xf32>
  %x1 = onnx.Tile %x : (tensor<3x8xf32>) -> tensor<12x8xf32>
  %x2 = onnx.Reshape %x1 : (tensor<12x8xf32>) -> tensor<4x3x8xf32>
  %h0 = onnx.MatMul %x2, %up : (tensor<4x3x8xf32>, tensor<4x8x10xf32>) -> tensor<4x3x10xf32>
  %gu:2 = onnx.Split %h0 {axis = 2 : i64} : (tensor<4x3x10xf32>) -> (tensor<4x3x5xf32>, tensor<4x3x5xf32>)
  %g = onnx.Gelu %gu#0 : (tensor<4x3x5xf32>) -> tensor<4x3x5xf32>
  %a = onnx.Mul %g, %gu#1 : (tensor<4x3x5xf32>, tensor<4x3x5xf32>) -> tensor<4x3x5xf32>
  %y = onnx.MatMul %a, %down : (tensor<4x3x5xf32>, tensor<4x5x8xf32>) -> tensor<4x3x8xf32>
  %rt = onnx.Transpose %r {perm = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %r1 = onnx.Reshape %rt : (tensor<4x3xf32>) -> tensor<4x3x1xf32>
  %yw = onnx.Mul %y, %r1 : (tensor<4x3x8xf32>, tensor<4x3x1xf32>) -> tensor<4x3x8xf32>
  %result = onnx.ReduceSum %yw {axes = array<i64: 0>, keepdims = 0 : i64} : (tensor<4x3x8xf32>) -> tensor<3x8xf32>
  return %result : tensor<3x8xf32>
}
