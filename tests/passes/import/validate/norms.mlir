// RMS norms as they are spelt, and ops that are the same or nearly so.
// RUN: shard-opt %s --shardc-test-validate -o /dev/null | FileCheck %s

!x = tensor<?x16384xf32, #dist.value<dims = [seq, 16384]>>
!m = tensor<?x1xf32, #dist.value<dims = [seq, 1]>>
!w = tensor<16384xf32>
!h = tensor<?x16384xf16, #dist.value<dims = [seq, 16384]>>
!n = tensor<?x1xf16, #dist.value<dims = [seq, 1]>>

// CHECK: rms: same
func.func @rms(%x: !x, %w: !w) -> (!x, !x) {
  %two = onnx.Constant {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %eps = onnx.Constant {value = dense<1.0e-5> : tensor<f32>} : () -> tensor<f32>
  %p = onnx.Pow %x, %two : (!x, tensor<f32>) -> !x
  %m = onnx.ReduceMean %p {axes = array<i64: 1>} : (!x) -> !m
  %a = onnx.Add %m, %eps : (!m, tensor<f32>) -> !m
  %r = onnx.Sqrt %a : (!m) -> !m
  %d = onnx.Div %x, %r : (!x, !m) -> !x
  %y = onnx.Mul %d, %w : (!x, !w) -> !x
  %z = onnx.RMSNormalization %x, %w {axis = 1, epsilon = 1.0e-5 : f32} : (!x, !w) -> !x
  return %y, %z : !x, !x
}

// Rows of zeros tell.
// CHECK-NEXT: another_epsilon: different
func.func @another_epsilon(%x: !x, %w: !w) -> (!x, !x) {
  %y = onnx.RMSNormalization %x, %w {axis = 1, epsilon = 1.0e-5 : f32} : (!x, !w) -> !x
  %z = onnx.RMSNormalization %x, %w {axis = 1, epsilon = 2.0e-5 : f32} : (!x, !w) -> !x
  return %y, %z : !x, !x
}

// CHECK-NEXT: scale_and_bias: different
func.func @scale_and_bias(%x: !x, %w: !w, %b: !w) -> (!x, !x) {
  %y = onnx.LayerNormalization %x, %w, %b {axis = 1} : (!x, !w, !w) -> !x
  %z = onnx.LayerNormalization %x, %b, %w {axis = 1} : (!x, !w, !w) -> !x
  return %y, %z : !x, !x
}

// Squares of 300 are beyond f16, which a norm's statistics are not of.
// CHECK-NEXT: squares_of_half: different
func.func @squares_of_half(%x: !h, %w: tensor<16384xf16>) -> (!h, !h) {
  %eps = onnx.Constant {value = dense<1.001360e-05> : tensor<f16>} : () -> tensor<f16>
  %p = onnx.Mul %x, %x : (!h, !h) -> !h
  %m = onnx.ReduceMean %p {axes = array<i64: 1>} : (!h) -> !n
  %a = onnx.Add %m, %eps : (!n, tensor<f16>) -> !n
  %r = onnx.Sqrt %a : (!n) -> !n
  %d = onnx.Div %x, %r : (!h, !n) -> !h
  %y = onnx.Mul %d, %w : (!h, tensor<16384xf16>) -> !h
  %z = onnx.RMSNormalization %x, %w {axis = 1, epsilon = 1.001360e-5 : f32} : (!h, tensor<16384xf16>) -> !h
  return %y, %z : !h, !h
}
