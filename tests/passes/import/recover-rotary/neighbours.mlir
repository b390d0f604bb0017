// GPT-J: neighbours are pairs, and stand beside each other again.
// RUN: shard-opt %s --shardc-recover-rotary | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[COS:.*]] = onnx.Reshape %arg1
// CHECK-NEXT: %[[SIN:.*]] = onnx.Reshape %arg2
// CHECK-NEXT: onnx.RotaryEmbedding %arg0, %[[COS]], %[[SIN]] {interleaved = 1 : i64}
// CHECK-NEXT: return
func.func @main(%x: tensor<2x4x3x8xf32>, %cos: tensor<1x1x3x4xf32>, %sin: tensor<1x1x3x4xf32>) -> tensor<2x4x3x8xf32> {
  %cos1 = onnx.Reshape %cos : (tensor<1x1x3x4xf32>) -> tensor<1x1x3x4x1xf32>
  %cos2 = onnx.Expand %cos1 : (tensor<1x1x3x4x1xf32>) -> tensor<1x1x3x4x2xf32>
  %cos3 = onnx.Reshape %cos2 : (tensor<1x1x3x4x2xf32>) -> tensor<1x1x3x8xf32>
  %sin1 = onnx.Reshape %sin : (tensor<1x1x3x4xf32>) -> tensor<1x1x3x4x1xf32>
  %sin2 = onnx.Expand %sin1 : (tensor<1x1x3x4x1xf32>) -> tensor<1x1x3x4x2xf32>
  %sin3 = onnx.Reshape %sin2 : (tensor<1x1x3x4x2xf32>) -> tensor<1x1x3x8xf32>
  %a = onnx.Slice %x {bounds = #dist.dims<[0, 0, 0, 0]>, steps = array<i64: 1, 1, 1, 2>} : (tensor<2x4x3x8xf32>) -> tensor<2x4x3x4xf32>
  %b = onnx.Slice %x {bounds = #dist.dims<[0, 0, 0, 1]>, steps = array<i64: 1, 1, 1, 2>} : (tensor<2x4x3x8xf32>) -> tensor<2x4x3x4xf32>
  %n = onnx.Neg %b : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %n1 = onnx.Reshape %n : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4x1xf32>
  %a1 = onnx.Reshape %a : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4x1xf32>
  %r1 = onnx.Concat %n1, %a1 {axis = 4 : i64} : (tensor<2x4x3x4x1xf32>, tensor<2x4x3x4x1xf32>) -> tensor<2x4x3x4x2xf32>
  %r = onnx.Reshape %r1 : (tensor<2x4x3x4x2xf32>) -> tensor<2x4x3x8xf32>
  %p = onnx.Mul %x, %cos3 : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %q = onnx.Mul %r, %sin3 : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %y = onnx.Add %p, %q : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// CHECK-LABEL: func.func @pairs(
// CHECK: onnx.RotaryEmbedding %arg0, %{{.*}}, %{{.*}} {interleaved = 1 : i64}
// CHECK-NEXT: return
func.func @pairs(%x: tensor<2x4x3x8xf32>, %cos: tensor<1x1x3x4xf32>, %sin: tensor<1x1x3x4xf32>) -> tensor<2x4x3x8xf32> {
  %a = onnx.Slice %x {bounds = #dist.dims<[0, 0, 0, 0]>, steps = array<i64: 1, 1, 1, 2>} : (tensor<2x4x3x8xf32>) -> tensor<2x4x3x4xf32>
  %b = onnx.Slice %x {bounds = #dist.dims<[0, 0, 0, 1]>, steps = array<i64: 1, 1, 1, 2>} : (tensor<2x4x3x8xf32>) -> tensor<2x4x3x4xf32>
  %ac = onnx.Mul %a, %cos : (tensor<2x4x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<2x4x3x4xf32>
  %bs = onnx.Mul %b, %sin : (tensor<2x4x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<2x4x3x4xf32>
  %left = onnx.Sub %ac, %bs : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %bc = onnx.Mul %cos, %b : (tensor<1x1x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %as = onnx.Mul %a, %sin : (tensor<2x4x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<2x4x3x4xf32>
  %right = onnx.Add %bc, %as : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %l1 = onnx.Reshape %left : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4x1xf32>
  %r1 = onnx.Reshape %right : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4x1xf32>
  %s = onnx.Concat %l1, %r1 {axis = 4 : i64} : (tensor<2x4x3x4x1xf32>, tensor<2x4x3x4x1xf32>) -> tensor<2x4x3x4x2xf32>
  %y = onnx.Reshape %s : (tensor<2x4x3x4x2xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}
