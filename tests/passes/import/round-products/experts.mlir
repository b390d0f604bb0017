// Experts with constant weights may round, whatever is done to these before; those with weights that are an input, or quantised, may not.
// RUN: shard-opt %s --shardc-round-products | FileCheck %s

!x = tensor<6x8xf32, #dist.value<dims = [6, 8]>>
!i = tensor<6x2xi64, #dist.value<dims = [6, 2]>>
!p = tensor<6x2xf32, #dist.value<dims = [6, 2]>>
!u = tensor<4x8x16xf32, #dist.value<dims = [4, 8, 16]>>

// CHECK-LABEL: func.func @main(
// CHECK: onnx.MixtureOfExperts {{.*}} {operand_bits = 16 : i64}
// CHECK: onnx.MixtureOfExperts %arg0, %arg1, %arg2, %arg3, %{{[^ ]*}} : (
// CHECK: onnx.MixtureOfExperts %arg0, %arg1, %arg2, %{{[^ ]*}}, %{{[^ ]*}} : (
func.func @main(%x: !x {onnx.name = "x"}, %i: !i {onnx.name = "i"}, %p: !p {onnx.name = "p"}, %u: !u {onnx.name = "u"}) -> (!x {onnx.name = "y"}, !x {onnx.name = "z"}, !x {onnx.name = "q"}) {
  %w = onnx.Weight {file = "m.onnx", length = 2048 : i64, name = "w", offset = 0 : i64} : () -> tensor<4x16x8xf32>
  %t = onnx.Transpose %w {perm = array<i64: 0, 2, 1>} : (tensor<4x16x8xf32>) -> tensor<4x8x16xf32>
  %d = onnx.Weight {file = "m.onnx", length = 2048 : i64, name = "d", offset = 2048 : i64} : () -> tensor<4x16x8xf32>
  %b = onnx.Weight {file = "m.onnx", length = 512 : i64, name = "b", offset = 4096 : i64} : () -> tensor<4x8x16xi8>
  %s = onnx.Weight {file = "m.onnx", length = 256 : i64, name = "s", offset = 4608 : i64} : () -> tensor<4x1x16xf32>
  %n = onnx.DequantizeLinear %b, %s {axis = 1 : i64, block_size = 8 : i64} : (tensor<4x8x16xi8>, tensor<4x1x16xf32>) -> tensor<4x8x16xf32>
  %y = onnx.MixtureOfExperts %x, %i, %p, %t, %d : (!x, !i, !p, tensor<4x8x16xf32>, tensor<4x16x8xf32>) -> !x
  %z = onnx.MixtureOfExperts %x, %i, %p, %u, %d : (!x, !i, !p, !u, tensor<4x16x8xf32>) -> !x
  %q = onnx.MixtureOfExperts %x, %i, %p, %n, %d : (!x, !i, !p, tensor<4x8x16xf32>, tensor<4x16x8xf32>) -> !x
  return %y, %z, %q : !x, !x, !x
}
