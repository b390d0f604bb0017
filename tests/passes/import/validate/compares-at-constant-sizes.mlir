// What a model fixes is made small as a whole: sizes, positions that it stores, and the
// multiplications that follow from them. A large model whose sizes are all constants is
// compared like any other.
// RUN: shard-opt %s --shardc-recover-attention --shardc-test-break-recovery=attention 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=SAYS < %t

!h = tensor<4x16x577x64xf32>
!t = tensor<4x16x64x577xf32>
!s = tensor<4x16x577x577xf32>

// CHECK-LABEL: @images(
// CHECK-NOT: onnx.Attention
// CHECK: return
// SAYS: warning: loc("images"): attention is left as it is spelt
func.func @images(%q: !h, %k: !h, %v: !h) -> !h {
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!h) -> !t
  %a = onnx.MatMul %q, %kt : (!h, !t) -> !s
  %c = onnx.Constant {value = dense<0.125> : tensor<f32>} : () -> tensor<f32>
  %b = onnx.Mul %a, %c : (!s, tensor<f32>) -> !s
  %p = onnx.Softmax %b {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %p, %v : (!s, !h) -> !h loc("images")
  return %y : !h
}

!h64 = tensor<4x16x64x64xf32>
!s64 = tensor<4x16x64x64xf32>

// Stored positions are those of the first places.
// CHECK-LABEL: @positions(
// CHECK-NOT: onnx.Attention
// CHECK: return
// SAYS: warning: loc("positions"): attention is left as it is spelt
func.func @positions(%q: !h64, %k: !h64, %v: !h64) -> !h64 {
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!h64) -> !h64
  %a = onnx.MatMul %q, %kt : (!h64, !h64) -> !s64
  %c = onnx.Constant {value = dense<0.125> : tensor<f32>} : () -> tensor<f32>
  %b = onnx.Mul %a, %c : (!s64, tensor<f32>) -> !s64
  %places = onnx.Constant {value = dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63]> : tensor<64xi64>} : () -> tensor<64xi64>
  %rows = onnx.Reshape %places : (tensor<64xi64>) -> tensor<64x1xi64>
  %shown = onnx.LessOrEqual %places, %rows : (tensor<64xi64>, tensor<64x1xi64>) -> tensor<64x64xi1>
  %low = onnx.Constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %m = onnx.Where %shown, %b, %low : (tensor<64x64xi1>, !s64, tensor<f32>) -> !s64
  %p = onnx.Softmax %m {axis = 3 : i64} : (!s64) -> !s64
  %y = onnx.MatMul %p, %v : (!s64, !h64) -> !h64 loc("positions")
  return %y : !h64
}
