// Almost Gelu, almost Swish.
// RUN: shard-opt %s --shardc-recover-activations | FileCheck %s
// CHECK-NOT: onnx.Gelu
// CHECK-NOT: onnx.Swish

// A constant that is not 1 / sqrt(2).
func.func @constant(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %factor = onnx.Constant {value = dense<0.7072> : tensor<f32>} : () -> tensor<f32>
  %one = onnx.Constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %half = onnx.Constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.Mul %x, %factor : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %2 = onnx.Erf %1 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = onnx.Add %2, %one : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %4 = onnx.Mul %x, %3 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %5 = onnx.Mul %4, %half : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  return %5 : tensor<2x8xf32>
}

// A constant that differs from row to row.
func.func @vector(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %rootOfTwo = onnx.Constant {value = dense<1.41421354> : tensor<f32>} : () -> tensor<f32>
  %one = onnx.Constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %half = onnx.Constant {value = dense<[0.5, 0.25]> : tensor<2xf32>} : () -> tensor<2xf32>
  %1 = onnx.Div %x, %rootOfTwo : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %2 = onnx.Erf %1 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = onnx.Add %2, %one : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %4 = onnx.Mul %x, %3 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %5 = onnx.Mul %4, %half : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return %5 : tensor<2x2xf32>
}

// A constant whose dims make the result larger than x.
func.func @broadcast(%x: tensor<8xf32>) -> tensor<2x8xf32> {
  %rootOfTwo = onnx.Constant {value = dense<1.41421354> : tensor<f32>} : () -> tensor<f32>
  %one = onnx.Constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %half = onnx.Constant {value = dense<0.5> : tensor<2x1xf32>} : () -> tensor<2x1xf32>
  %1 = onnx.Div %x, %rootOfTwo : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = onnx.Erf %1 : (tensor<8xf32>) -> tensor<8xf32>
  %3 = onnx.Add %2, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %4 = onnx.Mul %x, %3 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %5 = onnx.Mul %4, %half : (tensor<8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  return %5 : tensor<2x8xf32>
}

// Another value than the one in the function.
func.func @others(%x: tensor<2x8xf32>, %y: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %1 = onnx.Sigmoid %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = onnx.Mul %1, %y : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %2 : tensor<2x8xf32>
}

// The sigmoid is an output as well.
func.func @shared(%x: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %1 = onnx.Sigmoid %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = onnx.Mul %1, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %1, %2 : tensor<2x8xf32>, tensor<2x8xf32>
}
