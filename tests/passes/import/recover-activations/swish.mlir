// x * sigmoid(x), and with a factor (quick Gelu).
// RUN: shard-opt %s --shardc-recover-activations | FileCheck %s

// CHECK-LABEL: func.func @silu(
// CHECK-NEXT: %[[SWISH:.*]] = onnx.Swish %arg0 : (tensor<2x8xbf16>) -> tensor<2x8xbf16>
// CHECK-NEXT: return %[[SWISH]]
func.func @silu(%x: tensor<2x8xbf16>) -> tensor<2x8xbf16> {
  %1 = onnx.Sigmoid %x : (tensor<2x8xbf16>) -> tensor<2x8xbf16>
  %2 = onnx.Mul %1, %x : (tensor<2x8xbf16>, tensor<2x8xbf16>) -> tensor<2x8xbf16>
  return %2 : tensor<2x8xbf16>
}

// CHECK-LABEL: func.func @quick(
// CHECK-NEXT: %[[SWISH:.*]] = onnx.Swish %arg0 {alpha = 1.702000e+00 : f32}
// CHECK-NEXT: return %[[SWISH]]
func.func @quick(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %alpha = onnx.Constant {value = dense<1.702> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.Mul %x, %alpha : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %2 = onnx.Sigmoid %1 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = onnx.Mul %x, %2 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %3 : tensor<2x8xf32>
}
