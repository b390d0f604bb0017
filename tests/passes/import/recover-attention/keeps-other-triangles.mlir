// Attention with a mask, but no causality: a weight of which nothing is known;
// every other row; rows that start before the past ends, so that some query
// would not see its own key.
// RUN: shard-opt %s --shardc-recover-attention | FileCheck %s

!q = tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>
!k = tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>
!t = tensor<?x4x8x?xf32, #dist.value<dims = [b, 4, 8, past + seq]>>
!s = tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
!w = tensor<64x64xi1>
!m = tensor<?x?xi1, #dist.value<dims = [seq, past + seq]>>

// CHECK-NOT: is_causal = 1
func.func @unknown(%q: !q, %k: !k, %v: !k) -> !q {
  %low = onnx.Constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %w = onnx.Weight {name = "bias", file = "m.onnx", offset = 0 : i64, length = 4096 : i64} : () -> !w
  %shown = onnx.Slice %w {bounds = #dist.dims<[past, 0]>, steps = array<i64: 1, 1>} : (!w) -> !m
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!k) -> !t
  %qk = onnx.MatMul %q, %kt : (!q, !t) -> !s
  %masked = onnx.Where %shown, %qk, %low : (!m, !s, tensor<f32>) -> !s
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !k) -> !q
  return %y : !q
}

func.func @every_other(%q: !q, %k: !k, %v: !k) -> !q {
  %low = onnx.Constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %w = onnx.Weight {name = "bias", file = "m.onnx", offset = 0 : i64, length = 4096 : i64, pattern = "triangle"} : () -> !w
  %shown = onnx.Slice %w {bounds = #dist.dims<[past, 0]>, steps = array<i64: 2, 1>} : (!w) -> !m
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!k) -> !t
  %qk = onnx.MatMul %q, %kt : (!q, !t) -> !s
  %masked = onnx.Where %shown, %qk, %low : (!m, !s, tensor<f32>) -> !s
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !k) -> !q
  return %y : !q
}

func.func @other_columns(%q: !q, %k: !k, %v: !k) -> !q {
  %low = onnx.Constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %w = onnx.Weight {name = "bias", file = "m.onnx", offset = 0 : i64, length = 4096 : i64, pattern = "triangle"} : () -> !w
  %shown = onnx.Slice %w {bounds = #dist.dims<[0, 1]>, steps = array<i64: 1, 1>} : (!w) -> !m
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!k) -> !t
  %qk = onnx.MatMul %q, %kt : (!q, !t) -> !s
  %masked = onnx.Where %shown, %qk, %low : (!m, !s, tensor<f32>) -> !s
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !k) -> !q
  return %y : !q
}
