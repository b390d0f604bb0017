// A constant of more dims than x gives the result one more: no norm of x.
// RUN: shard-opt %s --shardc-recover-normalizations | FileCheck %s
// CHECK-NOT: Normalization

!x = tensor<4x8xf32>
!y = tensor<1x4x8xf32>
!m = tensor<1x4x1xf32>
!n = tensor<4x1xf32>
!c = tensor<1x1x1xf32>
!f = tensor<f32>

func.func @exponent(%x: !x) -> !y {
  %two = onnx.Constant {value = dense<2.0> : !c} : () -> !c
  %eps = onnx.Constant {value = dense<7.62939453E-6> : !f} : () -> !f
  %p = onnx.Pow %x, %two : (!x, !c) -> !y
  %m = onnx.ReduceMean %p {axes = array<i64: 2>} : (!y) -> !m
  %a = onnx.Add %m, %eps : (!m, !f) -> !m
  %r = onnx.Sqrt %a : (!m) -> !m
  %d = onnx.Div %x, %r : (!x, !m) -> !y
  return %d : !y
}

func.func @one(%x: !x) -> !y {
  %two = onnx.Constant {value = dense<2.0> : !f} : () -> !f
  %one = onnx.Constant {value = dense<1.0> : !c} : () -> !c
  %eps = onnx.Constant {value = dense<7.62939453E-6> : !f} : () -> !f
  %p = onnx.Pow %x, %two : (!x, !f) -> !x
  %m = onnx.ReduceMean %p {axes = array<i64: 1>} : (!x) -> !n
  %a = onnx.Add %m, %eps : (!n, !f) -> !n
  %r = onnx.Sqrt %a : (!n) -> !n
  %i = onnx.Div %one, %r : (!c, !n) -> !m
  %d = onnx.Mul %x, %i : (!x, !m) -> !y
  return %d : !y
}
