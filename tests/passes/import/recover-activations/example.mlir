// Gelu as PyTorch's exporters write it.
// RUN: shard-opt %s --shardc-recover-activations | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[GELU:.*]] = onnx.Gelu %arg0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT: return %[[GELU]]
func.func @main(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %rootOfTwo = onnx.Constant {value = dense<1.41421354> : tensor<f32>} : () -> tensor<f32>
  %one = onnx.Constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %half = onnx.Constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.Div %x, %rootOfTwo : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %2 = onnx.Erf %1 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = onnx.Add %2, %one : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %4 = onnx.Mul %x, %3 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %5 = onnx.Mul %4, %half : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  return %5 : tensor<2x8xf32>
}
