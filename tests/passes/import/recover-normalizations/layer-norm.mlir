// As before opset 17, with x - mean(x) computed once or twice.
// RUN: shard-opt %s --shardc-recover-normalizations | FileCheck %s

// CHECK-LABEL: func.func @once(
// CHECK-NEXT: %[[NORM:.*]] = onnx.LayerNormalization %arg0, %arg1, %arg2 {axis = 1 : i64, epsilon = 9.99999996E-13 : f32}
// CHECK-NEXT: return %[[NORM]]
func.func @once(%x: tensor<3x8xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<3x8xf32> {
  %two = onnx.Constant {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %epsilon = onnx.Constant {value = dense<1.0e-12> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.ReduceMean %x {axes = array<i64: 1>} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %2 = onnx.Sub %x, %1 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  %3 = onnx.Pow %2, %two : (tensor<3x8xf32>, tensor<f32>) -> tensor<3x8xf32>
  %4 = onnx.ReduceMean %3 {axes = array<i64: 1>} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %5 = onnx.Add %4, %epsilon : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %6 = onnx.Sqrt %5 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %7 = onnx.Div %2, %6 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  %8 = onnx.Mul %7, %w : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  %9 = onnx.Add %8, %b : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  return %9 : tensor<3x8xf32>
}

// CHECK-LABEL: func.func @twice(
// CHECK-NEXT: %[[NORM:.*]] = onnx.LayerNormalization %arg0, %arg1 {axis = 1 : i64}
// CHECK-NEXT: return %[[NORM]]
func.func @twice(%x: tensor<3x8xf32>, %w: tensor<8xf32>) -> tensor<3x8xf32> {
  %epsilon = onnx.Constant {value = dense<1.0e-05> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.ReduceMean %x {axes = array<i64: 1>} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %2 = onnx.Sub %x, %1 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  %again = onnx.Sub %x, %1 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  %3 = onnx.Mul %2, %2 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %4 = onnx.ReduceMean %3 {axes = array<i64: 1>} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %5 = onnx.Add %4, %epsilon : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %6 = onnx.Sqrt %5 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %7 = onnx.Reciprocal %6 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %8 = onnx.Mul %again, %7 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  %9 = onnx.Mul %8, %w : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  return %9 : tensor<3x8xf32>
}
