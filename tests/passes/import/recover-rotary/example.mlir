// Llama's: halves of a head, each angle twice.
// RUN: shard-opt %s --shardc-recover-rotary | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[COS:.*]] = onnx.Cos %arg1 : (tensor<1x1x3x4xf32>) -> tensor<1x1x3x4xf32>
// CHECK-NEXT: %[[COSINES:.*]] = onnx.Reshape %[[COS]] : (tensor<1x1x3x4xf32>) -> tensor<1x3x4xf32>
// CHECK-NEXT: %[[SIN:.*]] = onnx.Sin %arg1
// CHECK-NEXT: %[[SINES:.*]] = onnx.Reshape %[[SIN]]
// CHECK-NEXT: %[[ROTATED:.*]] = onnx.RotaryEmbedding %arg0, %[[COSINES]], %[[SINES]] : (tensor<2x4x3x8xf32>, tensor<1x3x4xf32>, tensor<1x3x4xf32>) -> tensor<2x4x3x8xf32>
// CHECK-NEXT: return %[[ROTATED]]
func.func @main(%x: tensor<2x4x3x8xf32>, %angles: tensor<1x1x3x4xf32>) -> tensor<2x4x3x8xf32> {
  %twice = onnx.Concat %angles, %angles {axis = 3 : i64} : (tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<1x1x3x8xf32>
  %cos = onnx.Cos %twice : (tensor<1x1x3x8xf32>) -> tensor<1x1x3x8xf32>
  %sin = onnx.Sin %twice : (tensor<1x1x3x8xf32>) -> tensor<1x1x3x8xf32>
  %p = onnx.Mul %x, %cos : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %h:2 = onnx.Split %x {axis = 3 : i64} : (tensor<2x4x3x8xf32>) -> (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>)
  %n = onnx.Neg %h#1 : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %r = onnx.Concat %n, %h#0 {axis = 3 : i64} : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x8xf32>
  %q = onnx.Mul %r, %sin : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %y = onnx.Add %p, %q : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}
