// Activations as they are spelt, and ops that are the same or nearly so.
// RUN: shard-opt %s --shardc-test-validate -o /dev/null | FileCheck %s

!x = tensor<?x8192xf32, #dist.value<dims = [seq, 8192]>>
!h = tensor<?x8192xf16, #dist.value<dims = [seq, 8192]>>

// CHECK: swish: same
func.func @swish(%x: !x) -> (!x, !x) {
  %s = onnx.Sigmoid %x : (!x) -> !x
  %y = onnx.Mul %x, %s : (!x, !x) -> !x
  %z = onnx.Swish %x : (!x) -> !x
  return %y, %z : !x, !x
}

// CHECK-NEXT: swish_of_half: same
func.func @swish_of_half(%x: !h) -> (!h, !h) {
  %s = onnx.Sigmoid %x : (!h) -> !h
  %y = onnx.Mul %x, %s : (!h, !h) -> !h
  %z = onnx.Swish %x : (!h) -> !h
  return %y, %z : !h, !h
}

// CHECK-NEXT: another_alpha: different with seq = 3: element [0, 0] is
func.func @another_alpha(%x: !x) -> (!x, !x) {
  %s = onnx.Sigmoid %x : (!x) -> !x
  %y = onnx.Mul %x, %s : (!x, !x) -> !x
  %z = onnx.Swish %x {alpha = 1.001 : f32} : (!x) -> !x
  return %y, %z : !x, !x
}

// CHECK-NEXT: gelu: same
func.func @gelu(%x: !x) -> (!x, !x) {
  %root = onnx.Constant {value = dense<1.41421354> : tensor<f32>} : () -> tensor<f32>
  %one = onnx.Constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %half = onnx.Constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %d = onnx.Div %x, %root : (!x, tensor<f32>) -> !x
  %e = onnx.Erf %d : (!x) -> !x
  %a = onnx.Add %e, %one : (!x, tensor<f32>) -> !x
  %m = onnx.Mul %x, %a : (!x, !x) -> !x
  %y = onnx.Mul %m, %half : (!x, tensor<f32>) -> !x
  %z = onnx.Gelu %x : (!x) -> !x
  return %y, %z : !x, !x
}

// The two forms of Gelu are some 0.0005 apart.
// CHECK-NEXT: another_gelu: different
func.func @another_gelu(%x: !x) -> (!x, !x) {
  %y = onnx.Gelu %x {approximate = "tanh"} : (!x) -> !x
  %z = onnx.Gelu %x : (!x) -> !x
  return %y, %z : !x, !x
}
