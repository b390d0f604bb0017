// Attention that is spelled out in front of one that the model has, by the same
// mask: that of the one behind is not there yet.
// RUN: shard-opt %s --shardc-recover-attention | FileCheck %s

!q = tensor<2x4x5x8xf32>
!kt = tensor<2x4x8x5xf32>
!s = tensor<2x4x5x5xf32>
!c = tensor<2x1x5x5xi1>
!m = tensor<2x1x5x5xf32>
!f = tensor<f32>

// CHECK-LABEL: func.func @main(
// CHECK: %[[FIRST:.*]] = onnx.Where %arg3
// CHECK: %[[Y:.*]] = onnx.Attention %arg0, %arg1, %arg2, %[[FIRST]] {
// CHECK: onnx.Attention %[[Y]], %arg1, %arg2, %{{.*}} {
func.func @main(%q: !q, %k: !q, %v: !q, %c: !c) -> !q {
  %zero = onnx.Constant {value = dense<0.0> : !f} : () -> !f
  %low = onnx.Constant {value = dense<-3.40282347E+38> : !f} : () -> !f
  %m1 = onnx.Where %c, %zero, %low : (!c, !f, !f) -> !m
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!q) -> !kt
  %qk = onnx.MatMul %q, %kt : (!q, !kt) -> !s
  %masked = onnx.Add %qk, %m1 : (!s, !m) -> !s
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !q) -> !q
  %m2 = onnx.Where %c, %zero, %low : (!c, !f, !f) -> !m
  %z = onnx.Attention %y, %k, %v, %m2 {scale = 0.5 : f32} : (!q, !q, !q, !m) -> !q
  return %z : !q
}
