// Numbers that one product alone reads never have a buffer; those of others do.
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s

!x = tensor<?x128xf32, #dist.value<dims = [seq, 128], sharding = [{}, {}]>>
!w = tensor<64x128xui4, #dist.value<dims = [64, 128], sharding = [{"tp"=2}, {}]>>
!s = tensor<64x4xf32, #dist.value<dims = [64, 4], sharding = [{"tp"=2}, {}]>>
!n = tensor<64x128xf32, #dist.value<dims = [64, 128], sharding = [{"tp"=2}, {}]>>
!t = tensor<128x64xf32, #dist.value<dims = [128, 64], sharding = [{}, {"tp"=2}]>>
!y = tensor<?x64xf32, #dist.value<dims = [seq, 64], sharding = [{}, {"tp"=2}]>>

dist.mesh @mesh <["tp"=2]>

func.func @stage0(%x: !x) -> (!y, !y, !n) {
  %w = onnx.Weight {name = "w", file = "m.onnx", offset = 0 : i64, length = 4096 : i64} : () -> !w
  %s = onnx.Weight {name = "s", file = "m.onnx", offset = 4096 : i64, length = 1024 : i64} : () -> !s
  %n = onnx.DequantizeLinear %w, %s {axis = 1 : i64, block_size = 32 : i64} : (!w, !s) -> !n
  %t = onnx.Transpose %n {perm = array<i64: 1, 0>} : (!n) -> !t
  %y = onnx.MatMul %x, %t : (!x, !t) -> !y
  %m = onnx.DequantizeLinear %w, %s {axis = 1 : i64, block_size = 32 : i64} : (!w, !s) -> !n
  %u = onnx.Transpose %m {perm = array<i64: 1, 0>} : (!n) -> !t
  %z = onnx.MatMul %x, %u : (!x, !t) -> !y
  return %y, %z, %m : !y, !y, !n
}

// CHECK: rt.ready
// CHECK-NOT: "DequantizeLinear"
// CHECK: rt.call "MatMulDequantized"({{.*}}<ui4, [128, 32], [1, 128], 0>, {{.*}}<f32, [4, 32], [1, 4], 0>) into({{.*}}) {axis = array<i64: 0>, block_size = #dist.dims<[32]>}
// CHECK-NOT: rt.call "MatMul"
// CHECK: rt.call "DequantizeLinear"
// CHECK: rt.call "MatMul"

// Activations may be rounded where the weights say so.
// CHECK: rt.call "MatMulDequantized"({{.*}} {activation_bits = array<i64: 8>, axis = array<i64: 0>, block_size = #dist.dims<[32]>}
func.func @stage1(%x: !x) -> (!y) {
  %w = onnx.Weight {name = "w", file = "m.onnx", offset = 0 : i64, length = 4096 : i64} : () -> !w
  %s = onnx.Weight {name = "s", file = "m.onnx", offset = 4096 : i64, length = 1024 : i64} : () -> !s
  %n = onnx.DequantizeLinear %w, %s {axis = 1 : i64, block_size = 32 : i64, activation_bits = 8 : i64} : (!w, !s) -> !n
  %t = onnx.Transpose %n {perm = array<i64: 1, 0>} : (!n) -> !t
  %y = onnx.MatMul %x, %t : (!x, !t) -> !y
  return %y : !y
}
