// A recovery that computes something else is undone; the warning names the node, the
// sizes and the first difference.
// RUN: shard-opt %s --shardc-recover-normalizations --shardc-test-break-recovery="a norm" 2>%t | FileCheck %s --check-prefix=NORM
// RUN: FileCheck %s --check-prefix=NORM-SAYS < %t
// RUN: shard-opt %s --shardc-recover-rotary --shardc-test-break-recovery="a rotary embedding" 2>%t | FileCheck %s --check-prefix=ROTARY
// RUN: FileCheck %s --check-prefix=ROTARY-SAYS < %t
// RUN: shard-opt %s --shardc-recover-activations --shardc-test-break-recovery="an activation" 2>%t | FileCheck %s --check-prefix=SWISH
// RUN: FileCheck %s --check-prefix=SWISH-SAYS < %t
// RUN: shard-opt %s --shardc-recover-attention --shardc-test-break-recovery=attention 2>%t | FileCheck %s --check-prefix=ATTENTION
// RUN: FileCheck %s --check-prefix=ATTENTION-SAYS < %t
// Other recoveries are as they were:
// RUN: shard-opt %s --shardc-recover-normalizations --shardc-test-break-recovery=attention | FileCheck %s --check-prefix=OTHER
// OTHER-LABEL: @norm(
// OTHER: onnx.RMSNormalization

// NORM-LABEL: @norm(
// NORM-NOT: onnx.RMSNormalization
// NORM: onnx.Reciprocal
// NORM-SAYS: warning: loc("layer.0/norm"): a norm is left as it is spelt: as one op it would compute something else
// NORM-SAYS-NEXT: note: loc("layer.0/norm"): with {{.*}}, element [0, 0, 0] is {{[-0-9.e]+}} as it is spelt, {{[-0-9.e]+}} as one op
func.func @norm(%x: tensor<2x3x8xf32>, %w: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %two = onnx.Constant {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %epsilon = onnx.Constant {value = dense<1.0e-06> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.Pow %x, %two : (tensor<2x3x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
  %2 = onnx.ReduceMean %1 {axes = array<i64: 2>} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %3 = onnx.Add %2, %epsilon : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %4 = onnx.Sqrt %3 : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %5 = onnx.Reciprocal %4 : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %6 = onnx.Mul %x, %5 : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %7 = onnx.Mul %w, %6 : (tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32> loc("layer.0/norm")
  return %7 : tensor<2x3x8xf32>
}

// ROTARY-LABEL: @rotary(
// ROTARY-NOT: onnx.RotaryEmbedding
// ROTARY: onnx.Neg
// ROTARY-SAYS: warning: loc("layer.0/rotary"): a rotary embedding is left as it is spelt
// ROTARY-SAYS-NEXT: note: loc("layer.0/rotary"): with {{.*}}, element [{{.*}}] is
func.func @rotary(%x: tensor<2x4x3x8xf32>, %angles: tensor<1x1x3x4xf32>) -> tensor<2x4x3x8xf32> {
  %twice = onnx.Concat %angles, %angles {axis = 3 : i64} : (tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<1x1x3x8xf32>
  %cos = onnx.Cos %twice : (tensor<1x1x3x8xf32>) -> tensor<1x1x3x8xf32>
  %sin = onnx.Sin %twice : (tensor<1x1x3x8xf32>) -> tensor<1x1x3x8xf32>
  %p = onnx.Mul %x, %cos : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %h:2 = onnx.Split %x {axis = 3 : i64} : (tensor<2x4x3x8xf32>) -> (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>)
  %n = onnx.Neg %h#1 : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %r = onnx.Concat %n, %h#0 {axis = 3 : i64} : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x8xf32>
  %q = onnx.Mul %r, %sin : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %y = onnx.Add %p, %q : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32> loc("layer.0/rotary")
  return %y : tensor<2x4x3x8xf32>
}

// SWISH-LABEL: @swish(
// SWISH-NOT: onnx.Swish
// SWISH: onnx.Sigmoid
// SWISH-SAYS: warning: loc("layer.0/swish"): an activation is left as it is spelt
// SWISH-SAYS-NEXT: note: loc("layer.0/swish"): with {{.*}}, element [{{.*}}] is
func.func @swish(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = onnx.Sigmoid %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = onnx.Mul %x, %s : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("layer.0/swish")
  return %y : tensor<4x8xf32>
}

// ATTENTION-LABEL: @attention(
// ATTENTION-NOT: onnx.Attention
// ATTENTION: onnx.Softmax
// ATTENTION-SAYS: warning: loc("layer.0/attention"): attention is left as it is spelt
// ATTENTION-SAYS-NEXT: note: loc("layer.0/attention"): with {{.*}}, element [{{.*}}] is
!q = tensor<2x4x3x8xf32>
!t = tensor<2x4x8x3xf32>
!s = tensor<2x4x3x3xf32>
func.func @attention(%q: !q, %k: !q, %v: !q) -> !q {
  %scale = onnx.Constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!q) -> !t
  %qk = onnx.MatMul %q, %kt : (!q, !t) -> !s
  %scaled = onnx.Mul %qk, %scale : (!s, tensor<f32>) -> !s
  %weights = onnx.Softmax %scaled {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !q) -> !q loc("layer.0/attention")
  return %y : !q
}
