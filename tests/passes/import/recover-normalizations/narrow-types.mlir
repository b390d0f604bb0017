// There and back of an f16 model: the norm is one of f16. A scale that is
// applied in f32 is rounded once less: there the casts stay.
// RUN: shard-opt %s --shardc-recover-normalizations | FileCheck %s

// CHECK-LABEL: func.func @narrow(
// CHECK-NEXT: %[[NORM:.*]] = onnx.RMSNormalization %arg0, %arg1 {{.*}} : (tensor<3x8xf16>, tensor<8xf16>) -> tensor<3x8xf16>
// CHECK-NEXT: return %[[NORM]]
func.func @narrow(%x: tensor<3x8xf16>, %w: tensor<8xf16>) -> tensor<3x8xf16> {
  %epsilon = onnx.Constant {value = dense<1.0e-06> : tensor<f32>} : () -> tensor<f32>
  %0 = onnx.Cast %x : (tensor<3x8xf16>) -> tensor<3x8xf32>
  %1 = onnx.Mul %0, %0 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %2 = onnx.ReduceMean %1 {axes = array<i64: 1>} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %3 = onnx.Add %2, %epsilon : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %4 = onnx.Sqrt %3 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %5 = onnx.Div %0, %4 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  %6 = onnx.Cast %5 : (tensor<3x8xf32>) -> tensor<3x8xf16>
  %7 = onnx.Mul %w, %6 : (tensor<8xf16>, tensor<3x8xf16>) -> tensor<3x8xf16>
  return %7 : tensor<3x8xf16>
}

// CHECK-LABEL: func.func @wide(
// CHECK-NEXT: %[[WIDE:.*]] = onnx.Cast %arg0
// CHECK-NEXT: %[[NORM:.*]] = onnx.RMSNormalization %[[WIDE]], %arg1 {{.*}} -> tensor<3x8xf32>
// CHECK-NEXT: %[[NARROW:.*]] = onnx.Cast %[[NORM]]
// CHECK-NEXT: return %[[NARROW]]
func.func @wide(%x: tensor<3x8xbf16>, %w: tensor<8xf32>) -> tensor<3x8xbf16> {
  %epsilon = onnx.Constant {value = dense<1.0e-06> : tensor<f32>} : () -> tensor<f32>
  %0 = onnx.Cast %x : (tensor<3x8xbf16>) -> tensor<3x8xf32>
  %1 = onnx.Mul %0, %0 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %2 = onnx.ReduceMean %1 {axes = array<i64: 1>} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %3 = onnx.Add %2, %epsilon : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %4 = onnx.Sqrt %3 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %5 = onnx.Div %0, %4 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  %6 = onnx.Mul %5, %w : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  %7 = onnx.Cast %6 : (tensor<3x8xf32>) -> tensor<3x8xbf16>
  return %7 : tensor<3x8xbf16>
}
