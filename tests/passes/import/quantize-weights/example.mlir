// A product reads 4 bits with a scale for each 32 features; the last one 8. The lookup of the same weight goes on reading
// floats.
// RUN: shard-opt %s --shardc-quantize-weights | FileCheck %s

!ids = tensor<?xi64, #dist.value<dims = [s]>>
!x = tensor<?x64xf32, #dist.value<dims = [s, 64]>>
!y = tensor<?x96xf32, #dist.value<dims = [s, 96]>>

// CHECK: onnx.quantized = [{data = 0 : i64, dims = array<i64: 1, 64, 64>, element = f32, file = "m.data", group = 32 : i64, length = 16384 : i64, name = "w", offset = 0 : i64, scales = 2048 : i64, stored = i4, transposed = false}
// CHECK-SAME: {data = 2560 : i64, dims = array<i64: 1, 96, 64>, {{.*}} name = "table", {{.*}} stored = i8, transposed = true}]
// CHECK-LABEL: func.func @main(
// CHECK-DAG: %[[Q:.*]] = onnx.Weight {file = "//quantized.bin", length = 2048 : i64, name = "w.int4", offset = 0 : i64} : () -> tensor<64x64xi4>
// CHECK-DAG: %[[S:.*]] = onnx.Weight {file = "//quantized.bin", length = 512 : i64, name = "w.scales", offset = 2048 : i64} : () -> tensor<64x2xf32>
// CHECK-DAG: %[[TABLE:.*]] = onnx.Weight {file = "m.data", {{.*}} name = "table"
// CHECK: onnx.Gather %[[TABLE]]
// CHECK: %[[D:.*]] = onnx.DequantizeLinear %[[Q]], %[[S]] {block_size = 32 : i64}
// CHECK: %[[T:.*]] = onnx.Transpose %[[D]]
// CHECK: onnx.MatMul %{{.*}}, %[[T]]
// CHECK: onnx.DequantizeLinear {{.*}} : (tensor<96x64xi8>, tensor<96x2xf32>) -> tensor<96x64xf32>
func.func @main(%ids: !ids {onnx.name = "ids"}) -> (!y {onnx.name = "y"}) {
  %table = onnx.Weight {file = "m.data", length = 24576 : i64, name = "table", offset = 16384 : i64} : () -> tensor<96x64xf32>
  %w = onnx.Weight {file = "m.data", length = 16384 : i64, name = "w", offset = 0 : i64} : () -> tensor<64x64xf32>
  %x = onnx.Gather %table, %ids {axis = 0 : i64} : (tensor<96x64xf32>, !ids) -> !x
  %h = onnx.MatMul %x, %w : (!x, tensor<64x64xf32>) -> !x
  %t = onnx.Transpose %table {perm = array<i64: 1, 0>} : (tensor<96x64xf32>) -> tensor<64x96xf32>
  %y = onnx.MatMul %h, %t : (!x, tensor<64x96xf32>) -> !y
  return %y : !y
}
