// Masks that are no causality of the op's, or not for certain: they stay.
// RUN: shard-opt %s --shardc-recover-attention | FileCheck %s

// A row that padding hides as a whole is the mean of all values, of later keys
// as well, where low is finite.
// CHECK-LABEL: func.func @finite(
// CHECK: %[[MASK:.*]] = onnx.Where
// CHECK: onnx.Attention %arg0, %arg1, %arg2, %[[MASK]] {scale
func.func @finite(%q: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>, %k: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>, %v: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>, %pad: tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, past + seq]>>) -> tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>> {
  %r = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [past + seq]>>
  %row = onnx.Reshape %r : (tensor<?xi64, #dist.value<dims = [past + seq]>>) -> tensor<1x1x1x?xi64, #dist.value<dims = [1, 1, 1, past + seq]>>
  %c = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> tensor<?xi64, #dist.value<dims = [seq]>>
  %col = onnx.Reshape %c : (tensor<?xi64, #dist.value<dims = [seq]>>) -> tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, seq, 1]>>
  %past = onnx.LessOrEqual %row, %col : (tensor<1x1x1x?xi64, #dist.value<dims = [1, 1, 1, past + seq]>>, tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, seq, 1]>>) -> tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>
  %shown = onnx.And %past, %pad : (tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>, tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, past + seq]>>) -> tensor<?x1x?x?xi1, #dist.value<dims = [b, 1, seq, past + seq]>>
  %zero = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %low = onnx.Constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %mask = onnx.Where %shown, %zero, %low : (tensor<?x1x?x?xi1, #dist.value<dims = [b, 1, seq, past + seq]>>, tensor<f32>, tensor<f32>) -> tensor<?x1x?x?xf32, #dist.value<dims = [b, 1, seq, past + seq]>>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>) -> tensor<?x4x8x?xf32, #dist.value<dims = [b, 4, 8, past + seq]>>
  %qk = onnx.MatMul %q, %kt : (tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>, tensor<?x4x8x?xf32, #dist.value<dims = [b, 4, 8, past + seq]>>) -> tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
  %masked = onnx.Add %qk, %mask : (tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>, tensor<?x1x?x?xf32, #dist.value<dims = [b, 1, seq, past + seq]>>) -> tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>) -> tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
  %y = onnx.MatMul %weights, %v : (tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>, tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>) -> tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>
  return %y : tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>
}

// Both sides of a window.
// CHECK-LABEL: func.func @bidirectional(
// CHECK: %[[NEAR:.*]] = onnx.LessOrEqual
// CHECK: onnx.Attention %arg0, %arg1, %arg2, %[[NEAR]] {scale
func.func @bidirectional(%q: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>, %k: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>, %v: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>) -> tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>> {
  %r = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [past + seq]>>
  %row = onnx.Reshape %r : (tensor<?xi64, #dist.value<dims = [past + seq]>>) -> tensor<1x1x1x?xi64, #dist.value<dims = [1, 1, 1, past + seq]>>
  %c = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> tensor<?xi64, #dist.value<dims = [seq]>>
  %col = onnx.Reshape %c : (tensor<?xi64, #dist.value<dims = [seq]>>) -> tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, seq, 1]>>
  %four = onnx.Constant {value = dense<4> : tensor<i64>} : () -> tensor<i64>
  %d = onnx.Sub %col, %row : (tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, seq, 1]>>, tensor<1x1x1x?xi64, #dist.value<dims = [1, 1, 1, past + seq]>>) -> tensor<1x1x?x?xi64, #dist.value<dims = [1, 1, seq, past + seq]>>
  %a = onnx.Abs %d : (tensor<1x1x?x?xi64, #dist.value<dims = [1, 1, seq, past + seq]>>) -> tensor<1x1x?x?xi64, #dist.value<dims = [1, 1, seq, past + seq]>>
  %shown = onnx.LessOrEqual %a, %four : (tensor<1x1x?x?xi64, #dist.value<dims = [1, 1, seq, past + seq]>>, tensor<i64>) -> tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>
  %zero = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %low = onnx.Constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %mask = onnx.Where %shown, %zero, %low : (tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>, tensor<f32>, tensor<f32>) -> tensor<1x1x?x?xf32, #dist.value<dims = [1, 1, seq, past + seq]>>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>) -> tensor<?x4x8x?xf32, #dist.value<dims = [b, 4, 8, past + seq]>>
  %qk = onnx.MatMul %q, %kt : (tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>, tensor<?x4x8x?xf32, #dist.value<dims = [b, 4, 8, past + seq]>>) -> tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
  %masked = onnx.Add %qk, %mask : (tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>, tensor<1x1x?x?xf32, #dist.value<dims = [1, 1, seq, past + seq]>>) -> tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>) -> tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
  %y = onnx.MatMul %weights, %v : (tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>, tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>) -> tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>
  return %y : tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>
}

// Keys from the query on: the other way round.
// CHECK-LABEL: func.func @later(
// CHECK: %[[LATER:.*]] = onnx.GreaterOrEqual
// CHECK: onnx.Attention %arg0, %arg1, %arg2, %[[LATER]] {scale
func.func @later(%q: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>, %k: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>, %v: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>) -> tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>> {
  %r = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [past + seq]>>
  %row = onnx.Reshape %r : (tensor<?xi64, #dist.value<dims = [past + seq]>>) -> tensor<1x1x1x?xi64, #dist.value<dims = [1, 1, 1, past + seq]>>
  %c = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> tensor<?xi64, #dist.value<dims = [seq]>>
  %col = onnx.Reshape %c : (tensor<?xi64, #dist.value<dims = [seq]>>) -> tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, seq, 1]>>
  %shown = onnx.GreaterOrEqual %row, %col : (tensor<1x1x1x?xi64, #dist.value<dims = [1, 1, 1, past + seq]>>, tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, seq, 1]>>) -> tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>
  %zero = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %low = onnx.Constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %mask = onnx.Where %shown, %zero, %low : (tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>, tensor<f32>, tensor<f32>) -> tensor<1x1x?x?xf32, #dist.value<dims = [1, 1, seq, past + seq]>>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>) -> tensor<?x4x8x?xf32, #dist.value<dims = [b, 4, 8, past + seq]>>
  %qk = onnx.MatMul %q, %kt : (tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>, tensor<?x4x8x?xf32, #dist.value<dims = [b, 4, 8, past + seq]>>) -> tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
  %masked = onnx.Add %qk, %mask : (tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>, tensor<1x1x?x?xf32, #dist.value<dims = [1, 1, seq, past + seq]>>) -> tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>) -> tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
  %y = onnx.MatMul %weights, %v : (tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>, tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>) -> tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>
  return %y : tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>
}

// Not even a query's own key: rows that see nothing.
// CHECK-LABEL: func.func @before(
// CHECK: %[[LESS:.*]] = onnx.Less
// CHECK: onnx.Attention %arg0, %arg1, %arg2, %[[LESS]] {scale
func.func @before(%q: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>, %k: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>, %v: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>) -> tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>> {
  %r = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [past + seq]>>
  %row = onnx.Reshape %r : (tensor<?xi64, #dist.value<dims = [past + seq]>>) -> tensor<1x1x1x?xi64, #dist.value<dims = [1, 1, 1, past + seq]>>
  %c = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [seq]>>
  %col = onnx.Reshape %c : (tensor<?xi64, #dist.value<dims = [seq]>>) -> tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, seq, 1]>>
  %shown = onnx.Less %row, %col : (tensor<1x1x1x?xi64, #dist.value<dims = [1, 1, 1, past + seq]>>, tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, seq, 1]>>) -> tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>
  %zero = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %low = onnx.Constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %mask = onnx.Where %shown, %zero, %low : (tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>, tensor<f32>, tensor<f32>) -> tensor<1x1x?x?xf32, #dist.value<dims = [1, 1, seq, past + seq]>>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>) -> tensor<?x4x8x?xf32, #dist.value<dims = [b, 4, 8, past + seq]>>
  %qk = onnx.MatMul %q, %kt : (tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>, tensor<?x4x8x?xf32, #dist.value<dims = [b, 4, 8, past + seq]>>) -> tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
  %masked = onnx.Add %qk, %mask : (tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>, tensor<1x1x?x?xf32, #dist.value<dims = [1, 1, seq, past + seq]>>) -> tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>) -> tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
  %y = onnx.MatMul %weights, %v : (tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>, tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>) -> tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>
  return %y : tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>
}
