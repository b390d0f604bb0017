// Comparisons of positions: the queries stand behind `past` keys.
// RUN: shard-opt %s --shardc-recover-attention | FileCheck %s

// CHECK-LABEL: func.func @causal(
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2 {causal_offset = #dist.dims<[past]>, is_causal = 1 : i64, scale = 1.000000e+00 : f32, zero_rows = "none"}
// CHECK-NEXT: return
func.func @causal(%q: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>, %k: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>, %v: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>) -> tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>> {
  %r = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [past + seq]>>
  %row = onnx.Reshape %r : (tensor<?xi64, #dist.value<dims = [past + seq]>>) -> tensor<1x1x1x?xi64, #dist.value<dims = [1, 1, 1, past + seq]>>
  %c = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> tensor<?xi64, #dist.value<dims = [seq]>>
  %col = onnx.Reshape %c : (tensor<?xi64, #dist.value<dims = [seq]>>) -> tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, seq, 1]>>
  %shown = onnx.LessOrEqual %row, %col : (tensor<1x1x1x?xi64, #dist.value<dims = [1, 1, 1, past + seq]>>, tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, seq, 1]>>) -> tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>
  %zero = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %low = onnx.Constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %mask = onnx.Where %shown, %zero, %low : (tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>, tensor<f32>, tensor<f32>) -> tensor<1x1x?x?xf32, #dist.value<dims = [1, 1, seq, past + seq]>>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>) -> tensor<?x4x8x?xf32, #dist.value<dims = [b, 4, 8, past + seq]>>
  %qk = onnx.MatMul %q, %kt : (tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>, tensor<?x4x8x?xf32, #dist.value<dims = [b, 4, 8, past + seq]>>) -> tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
  %masked = onnx.Add %qk, %mask : (tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>, tensor<1x1x?x?xf32, #dist.value<dims = [1, 1, seq, past + seq]>>) -> tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>) -> tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
  %y = onnx.MatMul %weights, %v : (tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>, tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>) -> tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>
  return %y : tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>
}

// The rest of a conjunction is a smaller mask.
// CHECK-LABEL: func.func @padded(
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2, %arg3 {causal_offset = #dist.dims<[past]>, is_causal = 1 : i64, {{.*}}dims = [b, 1, 1, past + seq]>>) ->
// CHECK-NEXT: return
func.func @padded(%q: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>, %k: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>, %v: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>, %pad: tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, past + seq]>>) -> tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>> {
  %r = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [past + seq]>>
  %row = onnx.Reshape %r : (tensor<?xi64, #dist.value<dims = [past + seq]>>) -> tensor<1x1x1x?xi64, #dist.value<dims = [1, 1, 1, past + seq]>>
  %c = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> tensor<?xi64, #dist.value<dims = [seq]>>
  %col = onnx.Reshape %c : (tensor<?xi64, #dist.value<dims = [seq]>>) -> tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, seq, 1]>>
  %true = onnx.Constant {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %later = onnx.Greater %row, %col : (tensor<1x1x1x?xi64, #dist.value<dims = [1, 1, 1, past + seq]>>, tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, seq, 1]>>) -> tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>
  %not = onnx.Not %later : (tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>) -> tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>
  %one = onnx.And %true, %not : (tensor<i1>, tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>) -> tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>
  %shown = onnx.And %one, %pad : (tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>, tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, past + seq]>>) -> tensor<?x1x?x?xi1, #dist.value<dims = [b, 1, seq, past + seq]>>
  %zero = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %low = onnx.Constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %mask = onnx.Where %shown, %zero, %low : (tensor<?x1x?x?xi1, #dist.value<dims = [b, 1, seq, past + seq]>>, tensor<f32>, tensor<f32>) -> tensor<?x1x?x?xf32, #dist.value<dims = [b, 1, seq, past + seq]>>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>) -> tensor<?x4x8x?xf32, #dist.value<dims = [b, 4, 8, past + seq]>>
  %qk = onnx.MatMul %q, %kt : (tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>, tensor<?x4x8x?xf32, #dist.value<dims = [b, 4, 8, past + seq]>>) -> tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
  %masked = onnx.Add %qk, %mask : (tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>, tensor<?x1x?x?xf32, #dist.value<dims = [b, 1, seq, past + seq]>>) -> tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>) -> tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
  %y = onnx.MatMul %weights, %v : (tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>, tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>) -> tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>
  return %y : tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>
}

// CHECK-LABEL: func.func @window(
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2 {causal_offset = #dist.dims<[past]>, is_causal = 1 : i64, scale = 1.000000e+00 : f32, window = 8 : i64, zero_rows = "none"}
// CHECK-NEXT: return
func.func @window(%q: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>, %k: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>, %v: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>) -> tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>> {
  %r = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [past + seq]>>
  %row = onnx.Reshape %r : (tensor<?xi64, #dist.value<dims = [past + seq]>>) -> tensor<1x1x1x?xi64, #dist.value<dims = [1, 1, 1, past + seq]>>
  %c = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> tensor<?xi64, #dist.value<dims = [seq]>>
  %col = onnx.Reshape %c : (tensor<?xi64, #dist.value<dims = [seq]>>) -> tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, seq, 1]>>
  %eight = onnx.Constant {value = dense<8> : tensor<i64>} : () -> tensor<i64>
  %first = onnx.Sub %col, %eight : (tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, seq, 1]>>, tensor<i64>) -> tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, seq, 1]>>
  %near = onnx.Greater %row, %first : (tensor<1x1x1x?xi64, #dist.value<dims = [1, 1, 1, past + seq]>>, tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, seq, 1]>>) -> tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>
  %past = onnx.GreaterOrEqual %col, %row : (tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, seq, 1]>>, tensor<1x1x1x?xi64, #dist.value<dims = [1, 1, 1, past + seq]>>) -> tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>
  %shown = onnx.And %near, %past : (tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>, tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>) -> tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>
  %zero = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %low = onnx.Constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %mask = onnx.Where %shown, %zero, %low : (tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>, tensor<f32>, tensor<f32>) -> tensor<1x1x?x?xf32, #dist.value<dims = [1, 1, seq, past + seq]>>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>) -> tensor<?x4x8x?xf32, #dist.value<dims = [b, 4, 8, past + seq]>>
  %qk = onnx.MatMul %q, %kt : (tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>, tensor<?x4x8x?xf32, #dist.value<dims = [b, 4, 8, past + seq]>>) -> tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
  %masked = onnx.Add %qk, %mask : (tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>, tensor<1x1x?x?xf32, #dist.value<dims = [1, 1, seq, past + seq]>>) -> tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>) -> tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
  %y = onnx.MatMul %weights, %v : (tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>, tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>) -> tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>
  return %y : tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>
}

// By the difference of positions.
// CHECK-LABEL: func.func @distance(
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2 {causal_offset = #dist.dims<[past]>, is_causal = 1 : i64, {{.*}}window = 4 : i64
// CHECK-NEXT: return
func.func @distance(%q: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>, %k: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>, %v: tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>) -> tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>> {
  %r = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [past + seq]>>
  %row = onnx.Reshape %r : (tensor<?xi64, #dist.value<dims = [past + seq]>>) -> tensor<1x1x1x?xi64, #dist.value<dims = [1, 1, 1, past + seq]>>
  %c = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> tensor<?xi64, #dist.value<dims = [seq]>>
  %col = onnx.Reshape %c : (tensor<?xi64, #dist.value<dims = [seq]>>) -> tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, seq, 1]>>
  %zeros = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %four = onnx.Constant {value = dense<4> : tensor<i64>} : () -> tensor<i64>
  %d = onnx.Sub %col, %row : (tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, seq, 1]>>, tensor<1x1x1x?xi64, #dist.value<dims = [1, 1, 1, past + seq]>>) -> tensor<1x1x?x?xi64, #dist.value<dims = [1, 1, seq, past + seq]>>
  %late = onnx.GreaterOrEqual %d, %zeros : (tensor<1x1x?x?xi64, #dist.value<dims = [1, 1, seq, past + seq]>>, tensor<i64>) -> tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>
  %near = onnx.Less %d, %four : (tensor<1x1x?x?xi64, #dist.value<dims = [1, 1, seq, past + seq]>>, tensor<i64>) -> tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>
  %shown = onnx.And %near, %late : (tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>, tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>) -> tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>
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
