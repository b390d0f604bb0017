// A table whose columns are blocks of a quantised product's rows: a rank has whole
// blocks, and with them columns side by side, which need no copy.
// RUN: shard-opt %s --shardc-propagate-shardings | FileCheck %s

!x = tensor<?x32xf32, #dist.value<dims = [n, 32]>>
!y = tensor<?x16xf32, #dist.value<dims = [n, 16]>>
!ids = tensor<?xi64, #dist.value<dims = [n]>>

dist.mesh @mesh <["tp"=2]>

// CHECK: onnx.Gather {{.*}} sharding = [{}, (4:"tp"=2, 8)]>>
func.func @main(%ids: !ids) -> !y {
  %bytes = onnx.Weight {name = "bytes", file = "m", offset = 0 : i64, length = 512 : i64} : () -> tensor<16x4x8xui8>
  %norm = onnx.Weight {name = "norm", file = "m", offset = 1024 : i64, length = 128 : i64} : () -> tensor<32xf32>
  %scale = onnx.Weight {name = "scale", file = "m", offset = 512 : i64, length = 256 : i64} : () -> tensor<16x4xf32>
  %table = onnx.Weight {name = "table", file = "m", offset = 1024 : i64, length = 12800 : i64} : () -> tensor<100x32xf32>
  %x = onnx.Gather %table, %ids : (tensor<100x32xf32>, !ids) -> !x
  %words = onnx.Reshape %bytes : (tensor<16x4x8xui8>) -> tensor<16x32xui8>
  %rows = onnx.DequantizeLinear %words, %scale {axis = 1 : i64, block_size = 8 : i64} : (tensor<16x32xui8>, tensor<16x4xf32>) -> tensor<16x32xf32>
  %matrix = onnx.Transpose %rows {perm = array<i64: 1, 0>} : (tensor<16x32xf32>) -> tensor<32x16xf32>
  %xn = onnx.RMSNormalization %x, %norm {axis = 1 : i64} : (!x, tensor<32xf32>) -> !x
  %y = onnx.MatMul %xn, %matrix : (!x, tensor<32x16xf32>) -> !y
  return %y : !y
}
