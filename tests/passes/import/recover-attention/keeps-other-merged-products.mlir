// No attention: a softmax over queries; merged values of which it is not known
// what was merged; a floor that scores may be below.
// RUN: shard-opt %s --shardc-recover-attention | FileCheck %s

!q = tensor<2x4x3x3xf32>
!mq = tensor<8x3x3xf32>
!m = tensor<2x1x3x3xf32>

// CHECK-NOT: onnx.Attention
func.func @over_queries(%q: !q, %k: !q, %v: !q) -> !mq {
  %mq = onnx.Reshape %q : (!q) -> !mq
  %mk = onnx.Reshape %k : (!q) -> !mq
  %mv = onnx.Reshape %v : (!q) -> !mq
  %mt = onnx.Transpose %mk {perm = array<i64: 0, 2, 1>} : (!mq) -> !mq
  %qk = onnx.MatMul %mq, %mt : (!mq, !mq) -> !mq
  %weights = onnx.Softmax %qk {axis = 1 : i64} : (!mq) -> !mq
  %y = onnx.MatMul %weights, %mv : (!mq, !mq) -> !mq
  return %y : !mq
}

func.func @unknown_heads(%q: !mq, %k: !mq, %v: !mq) -> !mq {
  %mt = onnx.Transpose %k {perm = array<i64: 0, 2, 1>} : (!mq) -> !mq
  %qk = onnx.MatMul %q, %mt : (!mq, !mq) -> !mq
  %weights = onnx.Softmax %qk {axis = 2 : i64} : (!mq) -> !mq
  %y = onnx.MatMul %weights, %v : (!mq, !mq) -> !mq
  return %y : !mq
}

// A number that a score may be below.
func.func @high_floor(%q: !q, %k: !q, %v: !q, %a: !m) -> !q {
  %low = onnx.Constant {value = dense<-1.0e4> : tensor<f32>} : () -> tensor<f32>
  %mt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!q) -> !q
  %qk = onnx.MatMul %q, %mt : (!q, !q) -> !q
  %once = onnx.Add %qk, %a : (!q, !m) -> !q
  %floored = onnx.Max %once, %low : (!q, tensor<f32>) -> !q
  %weights = onnx.Softmax %floored {axis = 3 : i64} : (!q) -> !q
  %y = onnx.MatMul %weights, %v : (!q, !q) -> !q
  return %y : !q
}

// One number in dims that make one query three.
func.func @wide_factor(%q: tensor<2x4x1x3xf32>, %k: !q, %v: !q) -> !mq {
  %f = onnx.Constant {value = dense<0.5> : tensor<3x1xf32>} : () -> tensor<3x1xf32>
  %one = onnx.Reshape %q : (tensor<2x4x1x3xf32>) -> tensor<8x1x3xf32>
  %mq = onnx.Mul %one, %f : (tensor<8x1x3xf32>, tensor<3x1xf32>) -> !mq
  %mk = onnx.Reshape %k : (!q) -> !mq
  %mv = onnx.Reshape %v : (!q) -> !mq
  %mt = onnx.Transpose %mk {perm = array<i64: 0, 2, 1>} : (!mq) -> !mq
  %qk = onnx.MatMul %mq, %mt : (!mq, !mq) -> !mq
  %weights = onnx.Softmax %qk {axis = 2 : i64} : (!mq) -> !mq
  %y = onnx.MatMul %weights, %mv : (!mq, !mq) -> !mq
  return %y : !mq
}
