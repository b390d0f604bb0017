// Heads behind the sequence.
// RUN: shard-opt %s --shardc-recover-rotary | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: %[[MOVED:.*]] = onnx.Transpose %arg0 {perm = array<i64: 0, 2, 1, 3>}
// CHECK-NEXT: %[[ROTATED:.*]] = onnx.RotaryEmbedding %[[MOVED]], %{{.*}}, %{{.*}} : (tensor<2x4x3x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>)
// CHECK-NEXT: %[[BACK:.*]] = onnx.Transpose %[[ROTATED]] {perm = array<i64: 0, 2, 1, 3>}
// CHECK-NEXT: return %[[BACK]]
func.func @main(%x: tensor<2x3x4x8xf32>, %angles: tensor<2x3x1x4xf32>) -> tensor<2x3x4x8xf32> {
  %twice = onnx.Concat %angles, %angles {axis = 3 : i64} : (tensor<2x3x1x4xf32>, tensor<2x3x1x4xf32>) -> tensor<2x3x1x8xf32>
  %cos = onnx.Cos %twice : (tensor<2x3x1x8xf32>) -> tensor<2x3x1x8xf32>
  %sin = onnx.Sin %twice : (tensor<2x3x1x8xf32>) -> tensor<2x3x1x8xf32>
  %p = onnx.Mul %x, %cos : (tensor<2x3x4x8xf32>, tensor<2x3x1x8xf32>) -> tensor<2x3x4x8xf32>
  %h:2 = onnx.Split %x {axis = 3 : i64} : (tensor<2x3x4x8xf32>) -> (tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>)
  %n = onnx.Neg %h#1 : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  %r = onnx.Concat %n, %h#0 {axis = 3 : i64} : (tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>) -> tensor<2x3x4x8xf32>
  %q = onnx.Mul %r, %sin : (tensor<2x3x4x8xf32>, tensor<2x3x1x8xf32>) -> tensor<2x3x4x8xf32>
  %y = onnx.Add %p, %q : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  return %y : tensor<2x3x4x8xf32>
}
