// One table, whole for the pairs of a wide head, and by halves for a narrow one.
// RUN: shard-opt %s --shardc-recover-rotary | FileCheck %s

!w = tensor<2x4x3x16xf32>
!x = tensor<2x4x3x8xf32>
!h = tensor<2x4x3x4xf32>
!t = tensor<1x1x3x8xf32>
!a = tensor<1x1x3x4xf32>

// CHECK-LABEL: func.func @main(
// CHECK-DAG: %[[COS:.*]] = onnx.Cos %{{.*}} : (tensor<1x1x3x8xf32>)
// CHECK-DAG: %[[NARROW:.*]] = onnx.Reshape %{{.*}} : (tensor<1x1x3x4xf32>) -> tensor<1x3x4xf32>
// CHECK-DAG: %[[WIDE:.*]] = onnx.Reshape %[[COS]] : (tensor<1x1x3x8xf32>) -> tensor<1x3x8xf32>
// CHECK-DAG: onnx.RotaryEmbedding %arg0, %{{.*}}, %{{.*}} : (tensor<2x4x3x8xf32>, tensor<1x3x4xf32>, tensor<1x3x4xf32>)
// CHECK-DAG: onnx.RotaryEmbedding %arg1, %[[WIDE]], %{{.*}} : (tensor<2x4x3x16xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>)
func.func @main(%x: !x, %w: !w, %angles: !a) -> (!x, !w) {
  %twice = onnx.Concat %angles, %angles {axis = 3 : i64} : (!a, !a) -> !t
  %cos = onnx.Cos %twice : (!t) -> !t
  %sin = onnx.Sin %twice : (!t) -> !t
  %p = onnx.Mul %x, %cos : (!x, !t) -> !x
  %h:2 = onnx.Split %x {axis = 3 : i64} : (!x) -> (!h, !h)
  %n = onnx.Neg %h#1 : (!h) -> !h
  %r = onnx.Concat %n, %h#0 {axis = 3 : i64} : (!h, !h) -> !x
  %q = onnx.Mul %r, %sin : (!x, !t) -> !x
  %y = onnx.Add %p, %q : (!x, !x) -> !x
  %g:2 = onnx.Split %w {axis = 3 : i64} : (!w) -> (!x, !x)
  %ac = onnx.Mul %g#0, %cos : (!x, !t) -> !x
  %bs = onnx.Mul %g#1, %sin : (!x, !t) -> !x
  %bc = onnx.Mul %g#1, %cos : (!x, !t) -> !x
  %as = onnx.Mul %g#0, %sin : (!x, !t) -> !x
  %left = onnx.Sub %ac, %bs : (!x, !x) -> !x
  %right = onnx.Add %bc, %as : (!x, !x) -> !x
  %z = onnx.Concat %left, %right {axis = 3 : i64} : (!x, !x) -> !w
  return %y, %z : !x, !w
}
