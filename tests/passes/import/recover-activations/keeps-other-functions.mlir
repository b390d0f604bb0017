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

// A number of the type that is not the nearest one to 1 / sqrt(2), nor the
// reciprocal of the one nearest to sqrt(2).
func.func @two_more(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %factor = onnx.Constant {value = dense<0.70710690> : tensor<f32>} : () -> tensor<f32>
  %one = onnx.Constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %half = onnx.Constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.Mul %x, %factor : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %2 = onnx.Erf %1 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = onnx.Add %2, %one : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %4 = onnx.Mul %x, %3 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %5 = onnx.Mul %4, %half : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  return %5 : tensor<2x8xf32>
}

func.func @narrow(%x: tensor<2x8xbf16>) -> tensor<2x8xbf16> {
  %factor = onnx.Constant {value = dense<0.7148> : tensor<bf16>} : () -> tensor<bf16>
  %one = onnx.Constant {value = dense<1.0> : tensor<bf16>} : () -> tensor<bf16>
  %half = onnx.Constant {value = dense<0.5> : tensor<bf16>} : () -> tensor<bf16>
  %1 = onnx.Mul %x, %factor : (tensor<2x8xbf16>, tensor<bf16>) -> tensor<2x8xbf16>
  %2 = onnx.Erf %1 : (tensor<2x8xbf16>) -> tensor<2x8xbf16>
  %3 = onnx.Add %2, %one : (tensor<2x8xbf16>, tensor<bf16>) -> tensor<2x8xbf16>
  %4 = onnx.Mul %x, %3 : (tensor<2x8xbf16>, tensor<2x8xbf16>) -> tensor<2x8xbf16>
  %5 = onnx.Mul %4, %half : (tensor<2x8xbf16>, tensor<bf16>) -> tensor<2x8xbf16>
  return %5 : tensor<2x8xbf16>
}

// A factor that the op's f32 does not hold.
func.func @wide(%x: tensor<2x8xf64>) -> tensor<2x8xf64> {
  %alpha = onnx.Constant {value = dense<1.702> : tensor<f64>} : () -> tensor<f64>
  %1 = onnx.Mul %x, %alpha : (tensor<2x8xf64>, tensor<f64>) -> tensor<2x8xf64>
  %2 = onnx.Sigmoid %1 : (tensor<2x8xf64>) -> tensor<2x8xf64>
  %3 = onnx.Mul %x, %2 : (tensor<2x8xf64>, tensor<2x8xf64>) -> tensor<2x8xf64>
  return %3 : tensor<2x8xf64>
}
