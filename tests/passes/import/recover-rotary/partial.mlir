// GPT-NeoX: the rest of a head stays as it is.
// RUN: shard-opt %s --shardc-recover-rotary | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: onnx.RotaryEmbedding %arg0, %{{.*}}, %{{.*}} {rotary_embedding_dim = 8 : i64}
// CHECK-NEXT: return
func.func @main(%w: tensor<2x4x3x12xf32>, %angles: tensor<1x1x3x4xf32>) -> tensor<2x4x3x12xf32> {
  %twice = onnx.Concat %angles, %angles {axis = 3 : i64} : (tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<1x1x3x8xf32>
  %cos = onnx.Cos %twice : (tensor<1x1x3x8xf32>) -> tensor<1x1x3x8xf32>
  %sin = onnx.Sin %twice : (tensor<1x1x3x8xf32>) -> tensor<1x1x3x8xf32>
  %parts:2 = onnx.Split %w {axis = 3 : i64} : (tensor<2x4x3x12xf32>) -> (tensor<2x4x3x8xf32>, tensor<2x4x3x4xf32>)
  %p = onnx.Mul %parts#0, %cos : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %h:2 = onnx.Split %parts#0 {axis = 3 : i64} : (tensor<2x4x3x8xf32>) -> (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>)
  %n = onnx.Neg %h#1 : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %r = onnx.Concat %n, %h#0 {axis = 3 : i64} : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x8xf32>
  %q = onnx.Mul %r, %sin : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %y = onnx.Add %p, %q : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  %z = onnx.Concat %y, %parts#1 {axis = 3 : i64} : (tensor<2x4x3x8xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x12xf32>
  return %z : tensor<2x4x3x12xf32>
}

// The rotated part is the last: MLA. It is rotated by itself.
// CHECK-LABEL: func.func @last(
// CHECK: %[[ROTATED:.*]] = onnx.RotaryEmbedding %{{.*}} : (tensor<2x4x3x8xf32>,
// CHECK-NEXT: onnx.Concat %{{.*}}#0, %[[ROTATED]]
func.func @last(%w: tensor<2x4x3x12xf32>, %angles: tensor<1x1x3x4xf32>) -> tensor<2x4x3x12xf32> {
  %twice = onnx.Concat %angles, %angles {axis = 3 : i64} : (tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<1x1x3x8xf32>
  %cos = onnx.Cos %twice : (tensor<1x1x3x8xf32>) -> tensor<1x1x3x8xf32>
  %sin = onnx.Sin %twice : (tensor<1x1x3x8xf32>) -> tensor<1x1x3x8xf32>
  %parts:2 = onnx.Split %w {axis = 3 : i64} : (tensor<2x4x3x12xf32>) -> (tensor<2x4x3x4xf32>, tensor<2x4x3x8xf32>)
  %p = onnx.Mul %parts#1, %cos : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %h:2 = onnx.Split %parts#1 {axis = 3 : i64} : (tensor<2x4x3x8xf32>) -> (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>)
  %n = onnx.Neg %h#1 : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %r = onnx.Concat %n, %h#0 {axis = 3 : i64} : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x8xf32>
  %q = onnx.Mul %r, %sin : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %y = onnx.Add %p, %q : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  %z = onnx.Concat %parts#0, %y {axis = 3 : i64} : (tensor<2x4x3x4xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x12xf32>
  return %z : tensor<2x4x3x12xf32>
}
