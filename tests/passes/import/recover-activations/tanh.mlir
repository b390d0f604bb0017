// The approximation of Gelu by tanh: x^3 by Pow, and the form without it.
// RUN: shard-opt %s --shardc-recover-activations | FileCheck %s

// CHECK-LABEL: func.func @pow(
// CHECK-NEXT: %[[GELU:.*]] = onnx.Gelu %arg0 {approximate = "tanh"}
// CHECK-NEXT: return %[[GELU]]
func.func @pow(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %half = onnx.Constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %three = onnx.Constant {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %cubic = onnx.Constant {value = dense<0.044715> : tensor<f32>} : () -> tensor<f32>
  %factor = onnx.Constant {value = dense<0.797884583> : tensor<f32>} : () -> tensor<f32>
  %one = onnx.Constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.Mul %x, %half : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %2 = onnx.Pow %x, %three : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %3 = onnx.Mul %2, %cubic : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %4 = onnx.Add %x, %3 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %5 = onnx.Mul %4, %factor : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %6 = onnx.Tanh %5 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %7 = onnx.Add %6, %one : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %8 = onnx.Mul %1, %7 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %8 : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @products(
// CHECK-NEXT: %[[GELU:.*]] = onnx.Gelu %arg0 {approximate = "tanh"}
// CHECK-NEXT: return %[[GELU]]
func.func @products(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %half = onnx.Constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %cubic = onnx.Constant {value = dense<0.044715> : tensor<f32>} : () -> tensor<f32>
  %factor = onnx.Constant {value = dense<0.797884583> : tensor<f32>} : () -> tensor<f32>
  %one = onnx.Constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.Mul %cubic, %x : (tensor<f32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = onnx.Mul %1, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = onnx.Add %one, %2 : (tensor<f32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %4 = onnx.Mul %x, %factor : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %5 = onnx.Mul %4, %3 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %6 = onnx.Tanh %5 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %7 = onnx.Add %one, %6 : (tensor<f32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %8 = onnx.Mul %x, %7 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %9 = onnx.Mul %half, %8 : (tensor<f32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %9 : tensor<2x8xf32>
}
