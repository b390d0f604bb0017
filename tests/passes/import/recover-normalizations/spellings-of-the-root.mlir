// x * x; the power -0.5; 1 / r; x / r; without a scale.
// RUN: shard-opt %s --shardc-recover-normalizations | FileCheck %s

// CHECK-LABEL: func.func @power(
// CHECK: onnx.RMSNormalization %arg0, %arg1
// CHECK-NEXT: return
func.func @power(%x: tensor<3x8xf32>, %w: tensor<8xf32>) -> tensor<3x8xf32> {
  %power = onnx.Constant {value = dense<-0.5> : tensor<f32>} : () -> tensor<f32>
  %epsilon = onnx.Constant {value = dense<1.0e-06> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.Mul %x, %x : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %2 = onnx.ReduceMean %1 {axes = array<i64: 1>} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %3 = onnx.Add %epsilon, %2 : (tensor<f32>, tensor<3x1xf32>) -> tensor<3x1xf32>
  %4 = onnx.Pow %3, %power : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %5 = onnx.Mul %4, %x : (tensor<3x1xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %6 = onnx.Mul %5, %w : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  return %6 : tensor<3x8xf32>
}

// CHECK-LABEL: func.func @inverse(
// CHECK-NEXT: %[[ONE:.*]] = onnx.Constant {value = dense<1.000000e+00> : tensor<1xf32>}
// CHECK-NEXT: onnx.RMSNormalization %arg0, %[[ONE]]
// CHECK-NEXT: return
func.func @inverse(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %one = onnx.Constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %epsilon = onnx.Constant {value = dense<1.0e-06> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.Mul %x, %x : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %2 = onnx.ReduceMean %1 {axes = array<i64: 1>} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %3 = onnx.Add %2, %epsilon : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %4 = onnx.Sqrt %3 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %5 = onnx.Div %one, %4 : (tensor<f32>, tensor<3x1xf32>) -> tensor<3x1xf32>
  %6 = onnx.Mul %x, %5 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  return %6 : tensor<3x8xf32>
}

// CHECK-LABEL: func.func @quotient(
// CHECK: onnx.RMSNormalization %arg0, %arg1 {axis = 1 : i64
// CHECK-NEXT: return
func.func @quotient(%x: tensor<3x4x8xf32>, %w: tensor<4x8xf32>) -> tensor<3x4x8xf32> {
  %epsilon = onnx.Constant {value = dense<1.0e-06> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.Mul %x, %x : (tensor<3x4x8xf32>, tensor<3x4x8xf32>) -> tensor<3x4x8xf32>
  %2 = onnx.ReduceMean %1 {axes = array<i64: 1, 2>} : (tensor<3x4x8xf32>) -> tensor<3x1x1xf32>
  %3 = onnx.Add %2, %epsilon : (tensor<3x1x1xf32>, tensor<f32>) -> tensor<3x1x1xf32>
  %4 = onnx.Sqrt %3 : (tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
  %5 = onnx.Div %x, %4 : (tensor<3x4x8xf32>, tensor<3x1x1xf32>) -> tensor<3x4x8xf32>
  %6 = onnx.Mul %5, %w : (tensor<3x4x8xf32>, tensor<4x8xf32>) -> tensor<3x4x8xf32>
  return %6 : tensor<3x4x8xf32>
}
