// Where a TopK chooses, attention stays: another number of queries rounds otherwise, and another expert might be chosen.
// RUN: shard-opt %s --shardc-round-products | FileCheck %s

!h = tensor<1x2x?x8xf32, #dist.value<dims = [1, 2, s, 8]>>
!k = tensor<1x2x?x2xf32, #dist.value<dims = [1, 2, s, 2]>>
!i = tensor<1x2x?x2xi64, #dist.value<dims = [1, 2, s, 2]>>

// CHECK-LABEL: func.func @main(
// CHECK: onnx.Attention
// CHECK-NOT: operand_bits
// CHECK: onnx.TopK
func.func @main(%q: !h {onnx.name = "q"}) -> (!k {onnx.name = "y"}, !i {onnx.name = "i"}) {
  %a = onnx.Attention %q, %q, %q : (!h, !h, !h) -> !h
  %y, %i = onnx.TopK %a {axis = -1 : i64, k = 2 : i64} : (!h) -> (!k, !i)
  return %y, %i : !k, !i
}
