// Llama's norm.
// RUN: shard-opt %s --shardc-recover-normalizations | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[NORM:.*]] = onnx.RMSNormalization %arg0, %arg1 {axis = 2 : i64, epsilon = 9.99999997E-7 : f32} : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
// CHECK-NEXT: return %[[NORM]]
func.func @main(%x: tensor<2x3x8xf32>, %w: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %two = onnx.Constant {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %epsilon = onnx.Constant {value = dense<1.0e-06> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.Pow %x, %two : (tensor<2x3x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
  %2 = onnx.ReduceMean %1 {axes = array<i64: 2>} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %3 = onnx.Add %2, %epsilon : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %4 = onnx.Sqrt %3 : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %5 = onnx.Reciprocal %4 : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %6 = onnx.Mul %x, %5 : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %7 = onnx.Mul %w, %6 : (tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  return %7 : tensor<2x3x8xf32>
}
