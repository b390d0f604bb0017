// Numbers of quantised weights are rounded with the other operand, unless the file lets that be rounded to 8 bits.
// RUN: shard-opt %s --shardc-round-products | FileCheck %s

!x = tensor<?x64xf32, #dist.value<dims = [s, 64]>>
!y = tensor<?x4xf32, #dist.value<dims = [s, 4]>>

// CHECK-LABEL: func.func @main(
// CHECK: onnx.DequantizeLinear {{.*}} {activation_bits = 16 : i64, block_size = 32 : i64}
// CHECK-NOT: operand_bits
// CHECK: onnx.DequantizeLinear {{.*}} {activation_bits = 8 : i64, axis = 0 : i64}
// CHECK-NOT: operand_bits
func.func @main(%x: !x {onnx.name = "x"}) -> (!y {onnx.name = "y"}, !y {onnx.name = "z"}) {
  %w = onnx.Weight {file = "m.onnx", length = 128 : i64, name = "w", offset = 0 : i64} : () -> tensor<4x64xui4>
  %s = onnx.Weight {file = "m.onnx", length = 32 : i64, name = "s", offset = 128 : i64} : () -> tensor<4x2xf32>
  %n = onnx.DequantizeLinear %w, %s {axis = 1 : i64, block_size = 32 : i64} : (tensor<4x64xui4>, tensor<4x2xf32>) -> tensor<4x64xf32>
  %t = onnx.Transpose %n {perm = array<i64: 1, 0>} : (tensor<4x64xf32>) -> tensor<64x4xf32>
  %y = onnx.MatMul %x, %t : (!x, tensor<64x4xf32>) -> !y
  %w2 = onnx.Weight {file = "m.onnx", length = 256 : i64, name = "w2", offset = 256 : i64} : () -> tensor<64x4xi8>
  %s2 = onnx.Weight {file = "m.onnx", length = 4 : i64, name = "s2", offset = 512 : i64} : () -> tensor<1x1xf32>
  %n2 = onnx.DequantizeLinear %w2, %s2 {activation_bits = 8 : i64, axis = 0 : i64} : (tensor<64x4xi8>, tensor<1x1xf32>) -> tensor<64x4xf32>
  %z = onnx.MatMul %x, %n2 : (!x, tensor<64x4xf32>) -> !y
  return %y, %z : !y, !y
}
