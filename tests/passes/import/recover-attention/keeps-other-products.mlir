// Almost attention.
// RUN: shard-opt %s --shardc-recover-attention | FileCheck %s
// CHECK-NOT: onnx.Attention

// The weights are an output as well.
func.func @weights(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>) -> (tensor<2x4x3x8xf32>, tensor<2x4x3x5xf32>) {
  %scale = onnx.Constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %scaled = onnx.Mul %qk, %scale : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %scaled {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %weights, %v : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y, %weights : tensor<2x4x3x8xf32>, tensor<2x4x3x5xf32>
}

// The softmax is over the queries.
func.func @axis(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32> {
  %scale = onnx.Constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %scaled = onnx.Mul %qk, %scale : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %scaled {axis = 2 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %weights, %v : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// A factor for each key.
func.func @factors(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>, %f: tensor<5xf32>) -> tensor<2x4x3x8xf32> {
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %scaled = onnx.Mul %qk, %f : (tensor<2x4x3x5xf32>, tensor<5xf32>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %scaled {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %weights, %v : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// The cap's factors do not cancel.
func.func @cap(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32> {
  %a = onnx.Constant {value = dense<50.0> : tensor<f32>} : () -> tensor<f32>
  %b = onnx.Constant {value = dense<30.0> : tensor<f32>} : () -> tensor<f32>
  %scale = onnx.Constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %scaled = onnx.Mul %qk, %scale : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %d = onnx.Div %scaled, %a : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %t = onnx.Tanh %d : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %c = onnx.Mul %t, %b : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %c {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %weights, %v : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// NaN becomes another number than 0.
func.func @nan(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32> {
  %zero = onnx.Constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %scale = onnx.Constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %scaled = onnx.Mul %qk, %scale : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %scaled {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %isNaN = onnx.IsNaN %weights : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xi1>
  %safe = onnx.Where %isNaN, %zero, %weights : (tensor<2x4x3x5xi1>, tensor<f32>, tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %safe, %v : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// The column that is dropped is the first.
func.func @first(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>, %mask: tensor<2x1x3x5xf32>, %sinks: tensor<1x4x1x1xf32>) -> tensor<2x4x3x8xf32> {
  %scale = onnx.Constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %scaled = onnx.Mul %qk, %scale : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %masked = onnx.Add %scaled, %mask : (tensor<2x4x3x5xf32>, tensor<2x1x3x5xf32>) -> tensor<2x4x3x5xf32>
  %e = onnx.Expand %sinks : (tensor<1x4x1x1xf32>) -> tensor<2x4x3x1xf32>
  %c = onnx.Concat %masked, %e {axis = 3 : i64} : (tensor<2x4x3x5xf32>, tensor<2x4x3x1xf32>) -> tensor<2x4x3x6xf32>
  %m = onnx.ReduceMax %c {axes = array<i64: 3>} : (tensor<2x4x3x6xf32>) -> tensor<2x4x3x1xf32>
  %d = onnx.Sub %c, %m : (tensor<2x4x3x6xf32>, tensor<2x4x3x1xf32>) -> tensor<2x4x3x6xf32>
  %w = onnx.Softmax %d {axis = 3 : i64} : (tensor<2x4x3x6xf32>) -> tensor<2x4x3x6xf32>
  %weights = onnx.Slice %w {bounds = #dist.dims<[0, 0, 0, 1]>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x3x6xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %weights, %v : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// The mask adds a batch.
func.func @batch(%q: tensor<1x4x3x8xf32>, %k: tensor<1x4x5x8xf32>, %v: tensor<1x4x5x8xf32>, %mask: tensor<2x1x3x5xf32>) -> tensor<2x4x3x8xf32> {
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<1x4x5x8xf32>) -> tensor<1x4x8x5xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<1x4x3x8xf32>, tensor<1x4x8x5xf32>) -> tensor<1x4x3x5xf32>
  %masked = onnx.Add %qk, %mask : (tensor<1x4x3x5xf32>, tensor<2x1x3x5xf32>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %weights, %v : (tensor<2x4x3x5xf32>, tensor<1x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}
