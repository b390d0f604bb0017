// GPT-2 keeps the mask of causality as a weight, of which each run takes rows
// from the past's size on. What the importer saw in it makes it causality.
// RUN: shard-opt %s --shardc-recover-attention | FileCheck %s

!q = tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, seq, 8]>>
!k = tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + seq, 8]>>
!t = tensor<?x4x8x?xf32, #dist.value<dims = [b, 4, 8, past + seq]>>
!s = tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
!w = tensor<1x1x64x64xui8>
!r = tensor<1x1x?x64xui8, #dist.value<dims = [1, 1, seq, 64]>>
!u = tensor<1x1x?x?xui8, #dist.value<dims = [1, 1, seq, past + seq]>>
!m = tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, seq, past + seq]>>

// CHECK-LABEL: func.func @with_past(
// CHECK-NEXT: %[[Y:.*]] = onnx.Attention %arg0, %arg1, %arg2 {causal_offset = #dist.dims<[past]>, is_causal = 1 : i64, scale = 1.000000e+00 : f32, zero_rows = "none"}
// CHECK-NEXT: return %[[Y]]
func.func @with_past(%q: !q, %k: !k, %v: !k) -> !q {
  %low = onnx.Constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %w = onnx.Weight {name = "bias", file = "m.onnx", offset = 0 : i64, length = 4096 : i64, pattern = "triangle"} : () -> !w
  %rows = onnx.Slice %w {bounds = #dist.dims<[0, 0, past, 0]>, steps = array<i64: 1, 1, 1, 1>} : (!w) -> !r
  %part = onnx.Slice %rows {bounds = #dist.dims<[0, 0, 0, 0]>, steps = array<i64: 1, 1, 1, 1>} : (!r) -> !u
  %shown = onnx.Cast %part : (!u) -> !m
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!k) -> !t
  %qk = onnx.MatMul %q, %kt : (!q, !t) -> !s
  %masked = onnx.Where %shown, %qk, %low : (!m, !s, tensor<f32>) -> !s
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !k) -> !q
  return %y : !q
}

// CHECK-LABEL: func.func @small(
// CHECK: onnx.Attention %arg0, %arg1, %arg2 {is_causal = 1 : i64
func.func @small(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x3x8xf32>, %v: tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32> {
  %low = onnx.Constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %shown = onnx.Constant {value = dense<[[true, false, false], [true, true, false], [true, true, true]]> : tensor<3x3xi1>} : () -> tensor<3x3xi1>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x3x8xf32>) -> tensor<2x4x8x3xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf32>, tensor<2x4x8x3xf32>) -> tensor<2x4x3x3xf32>
  %masked = onnx.Where %shown, %qk, %low : (tensor<3x3xi1>, tensor<2x4x3x3xf32>, tensor<f32>) -> tensor<2x4x3x3xf32>
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %y = onnx.MatMul %weights, %v : (tensor<2x4x3x3xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}
