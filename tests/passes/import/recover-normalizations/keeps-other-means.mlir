// Almost norms.
// RUN: shard-opt %s --shardc-recover-normalizations | FileCheck %s
// CHECK-NOT: Normalization

// The mean is of another value.
func.func @others(%x: tensor<3x8xf32>, %y: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %epsilon = onnx.Constant {value = dense<1.0e-06> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.Mul %y, %y : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %2 = onnx.ReduceMean %1 {axes = array<i64: 1>} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %3 = onnx.Add %2, %epsilon : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %4 = onnx.Sqrt %3 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %5 = onnx.Div %x, %4 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  return %5 : tensor<3x8xf32>
}

// The mean is over the first dim.
func.func @axis(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %epsilon = onnx.Constant {value = dense<1.0e-06> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.Mul %x, %x : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %2 = onnx.ReduceMean %1 {axes = array<i64: 0>} : (tensor<3x8xf32>) -> tensor<1x8xf32>
  %3 = onnx.Add %2, %epsilon : (tensor<1x8xf32>, tensor<f32>) -> tensor<1x8xf32>
  %4 = onnx.Sqrt %3 : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %5 = onnx.Div %x, %4 : (tensor<3x8xf32>, tensor<1x8xf32>) -> tensor<3x8xf32>
  return %5 : tensor<3x8xf32>
}

// The dims of the mean are gone: 8 x 8 is divided column by column.
func.func @columns(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %epsilon = onnx.Constant {value = dense<1.0e-06> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.Mul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = onnx.ReduceMean %1 {axes = array<i64: 1>, keepdims = 0 : i64} : (tensor<8x8xf32>) -> tensor<8xf32>
  %3 = onnx.Add %2, %epsilon : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %4 = onnx.Sqrt %3 : (tensor<8xf32>) -> tensor<8xf32>
  %5 = onnx.Div %x, %4 : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  return %5 : tensor<8x8xf32>
}

// Epsilon is added to the root.
func.func @outside(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %epsilon = onnx.Constant {value = dense<1.0e-06> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.Mul %x, %x : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %2 = onnx.ReduceMean %1 {axes = array<i64: 1>} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %3 = onnx.Sqrt %2 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %4 = onnx.Add %3, %epsilon : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %5 = onnx.Div %x, %4 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  return %5 : tensor<3x8xf32>
}

// Squares in f16 overflow where the kernel's do not.
func.func @narrow(%x: tensor<3x8xf16>) -> tensor<3x8xf16> {
  %epsilon = onnx.Constant {value = dense<1.0e-03> : tensor<f16>} : () -> tensor<f16>
  %1 = onnx.Mul %x, %x : (tensor<3x8xf16>, tensor<3x8xf16>) -> tensor<3x8xf16>
  %2 = onnx.ReduceMean %1 {axes = array<i64: 1>} : (tensor<3x8xf16>) -> tensor<3x1xf16>
  %3 = onnx.Add %2, %epsilon : (tensor<3x1xf16>, tensor<f16>) -> tensor<3x1xf16>
  %4 = onnx.Sqrt %3 : (tensor<3x1xf16>) -> tensor<3x1xf16>
  %5 = onnx.Div %x, %4 : (tensor<3x8xf16>, tensor<3x1xf16>) -> tensor<3x8xf16>
  return %5 : tensor<3x8xf16>
}
