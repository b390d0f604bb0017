// Queries and keys of all layers share the tables.
// RUN: shard-opt %s --shardc-recover-rotary | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-COUNT-1: onnx.Cos
// CHECK-NOT: onnx.Cos
// CHECK: onnx.RotaryEmbedding
// CHECK-NOT: onnx.Cos
// CHECK: onnx.RotaryEmbedding
func.func @main(%x: tensor<2x4x3x8xf32>, %angles: tensor<1x1x3x4xf32>) -> tensor<2x4x3x8xf32> {
  %twice = onnx.Concat %angles, %angles {axis = 3 : i64} : (tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<1x1x3x8xf32>
  %cos = onnx.Cos %twice : (tensor<1x1x3x8xf32>) -> tensor<1x1x3x8xf32>
  %sin = onnx.Sin %twice : (tensor<1x1x3x8xf32>) -> tensor<1x1x3x8xf32>
  %p1 = onnx.Mul %x, %cos : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %h1:2 = onnx.Split %x {axis = 3 : i64} : (tensor<2x4x3x8xf32>) -> (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>)
  %n1 = onnx.Neg %h1#1 : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %r1 = onnx.Concat %n1, %h1#0 {axis = 3 : i64} : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x8xf32>
  %q1 = onnx.Mul %r1, %sin : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %z = onnx.Add %p1, %q1 : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  %p2 = onnx.Mul %z, %cos : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %h2:2 = onnx.Split %z {axis = 3 : i64} : (tensor<2x4x3x8xf32>) -> (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>)
  %n2 = onnx.Neg %h2#1 : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %r2 = onnx.Concat %n2, %h2#0 {axis = 3 : i64} : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x8xf32>
  %q2 = onnx.Mul %r2, %sin : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %y = onnx.Add %p2, %q2 : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}
