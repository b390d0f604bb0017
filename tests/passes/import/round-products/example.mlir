// A product with weights may round, whatever is done to these before; one of two activations may not, and an attention may.
// RUN: shard-opt %s --shardc-round-products | FileCheck %s

!x = tensor<?x8xf32, #dist.value<dims = [s, 8]>>
!y = tensor<?x4xf32, #dist.value<dims = [s, 4]>>
!t = tensor<8x?xf32, #dist.value<dims = [8, s]>>
!s = tensor<?x?xf32, #dist.value<dims = [s, s]>>
!h = tensor<1x2x?x8xf32, #dist.value<dims = [1, 2, s, 8]>>

// CHECK-LABEL: func.func @main(
// CHECK: onnx.MatMul %arg0, %{{.*}} {operand_bits = 16 : i64}
// CHECK: onnx.Gemm %arg0, %{{.*}} {operand_bits = 16 : i64, transB = 1 : i64}
// CHECK: onnx.MatMul %arg0, %{{[^ ]*}} : (
// CHECK: onnx.Attention %arg1, %arg1, %arg1 {{{.*}}operand_bits = 16 : i64
func.func @main(%x: !x {onnx.name = "x"}, %q: !h {onnx.name = "q"}) -> (!y {onnx.name = "y"}, !y {onnx.name = "z"}, !s {onnx.name = "s"}, !h {onnx.name = "a"}) {
  %w = onnx.Weight {file = "m.onnx", length = 128 : i64, name = "w", offset = 0 : i64} : () -> tensor<4x8xf32>
  %t = onnx.Transpose %w {perm = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %y = onnx.MatMul %x, %t : (!x, tensor<8x4xf32>) -> !y
  %z = onnx.Gemm %x, %w {transB = 1 : i64} : (!x, tensor<4x8xf32>) -> !y
  %k = onnx.Transpose %x {perm = array<i64: 1, 0>} : (!x) -> !t
  %s = onnx.MatMul %x, %k : (!x, !t) -> !s
  %a = onnx.Attention %q, %q, %q : (!h, !h, !h) -> !h
  return %y, %z, %s, %a : !y, !y, !s, !h
}
