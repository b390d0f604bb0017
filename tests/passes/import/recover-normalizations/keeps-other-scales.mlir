// A factor along other dims is no scale of the norm, and one of a value that
// others use too stays behind it.
// RUN: shard-opt %s --shardc-recover-normalizations | FileCheck %s

// CHECK-LABEL: func.func @rows(
// CHECK: %[[NORM:.*]] = onnx.RMSNormalization %arg0, %{{[0-9]+}}
// CHECK-NEXT: %[[SCALED:.*]] = onnx.Mul %[[NORM]], %arg1
// CHECK-NEXT: return %[[SCALED]]
func.func @rows(%x: tensor<3x8xf32>, %w: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %epsilon = onnx.Constant {value = dense<1.0e-06> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.Mul %x, %x : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %2 = onnx.ReduceMean %1 {axes = array<i64: 1>} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %3 = onnx.Add %2, %epsilon : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %4 = onnx.Sqrt %3 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %5 = onnx.Div %x, %4 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  %6 = onnx.Mul %5, %w : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  return %6 : tensor<3x8xf32>
}

// CHECK-LABEL: func.func @shared(
// CHECK: %[[NORM:.*]] = onnx.RMSNormalization %arg0, %{{[0-9]+}}
// CHECK-NEXT: %[[SCALED:.*]] = onnx.Mul %[[NORM]], %arg1
// CHECK-NEXT: return %[[NORM]], %[[SCALED]]
func.func @shared(%x: tensor<3x8xf32>, %w: tensor<8xf32>) -> (tensor<3x8xf32>, tensor<3x8xf32>) {
  %epsilon = onnx.Constant {value = dense<1.0e-06> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.Mul %x, %x : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %2 = onnx.ReduceMean %1 {axes = array<i64: 1>} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %3 = onnx.Add %2, %epsilon : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %4 = onnx.Sqrt %3 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %5 = onnx.Div %x, %4 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  %6 = onnx.Mul %5, %w : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  return %5, %6 : tensor<3x8xf32>, tensor<3x8xf32>
}
