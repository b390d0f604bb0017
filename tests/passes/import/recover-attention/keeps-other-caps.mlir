// A soft cap of the mask is none of the scores: whichever operand is read first.
// RUN: shard-opt %s --shardc-recover-attention | FileCheck %s

!q = tensor<2x4x3x8xf32>
!k = tensor<2x4x5x8xf32>
!kt = tensor<2x4x8x5xf32>
!s = tensor<2x4x3x5xf32>
!f = tensor<f32>

// CHECK-LABEL: func.func @bias_first(
// CHECK: %[[CAPPED:.*]] = onnx.Mul
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2, %[[CAPPED]] {scale = 1.000000e+00 : f32, zero_rows = "none"}
func.func @bias_first(%q: !q, %k: !k, %v: !k, %bias: !s) -> !q {
  %cap = onnx.Constant {value = dense<5.0> : !f} : () -> !f
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!k) -> !kt
  %qk = onnx.MatMul %q, %kt : (!q, !kt) -> !s
  %d = onnx.Div %bias, %cap : (!s, !f) -> !s
  %t = onnx.Tanh %d : (!s) -> !s
  %c = onnx.Mul %t, %cap : (!s, !f) -> !s
  %masked = onnx.Add %c, %qk : (!s, !s) -> !s
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !k) -> !q
  return %y : !q
}

// The scale of a factor that is read and left again.
// CHECK-LABEL: func.func @bias_product_first(
// CHECK: onnx.Attention %arg0, %arg1, %arg2, %{{.*}} {scale = 2.500000e-01 : f32, zero_rows = "none"}
func.func @bias_product_first(%q: !q, %k: !k, %v: !k, %bias: !s) -> !q {
  %five = onnx.Constant {value = dense<5.0> : !f} : () -> !f
  %quarter = onnx.Constant {value = dense<0.25> : !f} : () -> !f
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!k) -> !kt
  %qk = onnx.MatMul %q, %kt : (!q, !kt) -> !s
  %scaled = onnx.Mul %qk, %quarter : (!s, !f) -> !s
  %c = onnx.Mul %bias, %five : (!s, !f) -> !s
  %masked = onnx.Add %c, %scaled : (!s, !s) -> !s
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !k) -> !q
  return %y : !q
}
