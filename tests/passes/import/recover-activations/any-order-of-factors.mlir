// The gate of a gated unit is no factor of the activation.
// RUN: shard-opt %s --shardc-recover-activations | FileCheck %s

// CHECK-LABEL: func.func @gated(
// CHECK-NEXT: %[[GELU:.*]] = onnx.Gelu %arg0
// CHECK-NEXT: %[[GATED:.*]] = onnx.Mul %[[GELU]], %arg1
// CHECK-NEXT: return %[[GATED]]
func.func @gated(%x: tensor<2x8xf32>, %up: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %factor = onnx.Constant {value = dense<0.707106769> : tensor<1xf32>} : () -> tensor<1xf32>
  %one = onnx.Constant {value = dense<1.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %half = onnx.Constant {value = dense<0.5> : tensor<1xf32>} : () -> tensor<1xf32>
  %1 = onnx.Mul %factor, %x : (tensor<1xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = onnx.Erf %1 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = onnx.Add %one, %2 : (tensor<1xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %4 = onnx.Mul %half, %x : (tensor<1xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %5 = onnx.Mul %4, %3 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %6 = onnx.Mul %5, %up : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %6 : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @sum(
// CHECK-NEXT: %[[GELU:.*]] = onnx.Gelu %arg0
// CHECK-NEXT: return %[[GELU]]
func.func @sum(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %rootOfTwo = onnx.Constant {value = dense<1.41421354> : tensor<f32>} : () -> tensor<f32>
  %half = onnx.Constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.Div %x, %rootOfTwo : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %2 = onnx.Erf %1 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = onnx.Mul %2, %half : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %4 = onnx.Add %3, %half : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %5 = onnx.Mul %4, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %5 : tensor<2x8xf32>
}
