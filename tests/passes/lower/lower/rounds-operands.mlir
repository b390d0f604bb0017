// Products that may round their operands have a kernel that does, for weights that are split either way.
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s

!x = tensor<?x128xf32, #dist.value<dims = [seq, 128], sharding = [{}, {}]>>
!w = tensor<64x128xf32, #dist.value<dims = [64, 128], sharding = [{"tp"=2}, {}]>>
!v = tensor<64x32xf32, #dist.value<dims = [64, 32], sharding = [{"tp"=2}, {}]>>
!b = tensor<64xf32, #dist.value<dims = [64], sharding = [{"tp"=2}]>>
!y = tensor<?x64xf32, #dist.value<dims = [seq, 64], sharding = [{}, {"tp"=2}]>>
!p = tensor<?x32xf32, #dist.value<dims = [seq, 32], sharding = [{}, {}], partial = {"tp"=2: sum}>>
!z = tensor<?x32xf32, #dist.value<dims = [seq, 32], sharding = [{}, {}]>>

dist.mesh @mesh <["tp"=2]>

// CHECK: rt.call "MatMulBFloat16"({{.*}}<f32, [128, 32], [1, 128], 0>, {{.*}}) into({{.*}}) {alpha = {{.*}}, beta = {{.*}}}
// CHECK: rt.call "MatMulBFloat16"({{.*}}<f32, [32, 32], [32, 1], 0>) into({{.*}})
// CHECK: rt.collective "all_reduce"
func.func @stage0(%x: !x) -> !z {
  %w = onnx.Weight {name = "w", file = "m.onnx", offset = 0 : i64, length = 32768 : i64} : () -> !w
  %b = onnx.Weight {name = "b", file = "m.onnx", offset = 32768 : i64, length = 256 : i64} : () -> !b
  %v = onnx.Weight {name = "v", file = "m.onnx", offset = 33024 : i64, length = 8192 : i64} : () -> !v
  %y = onnx.Gemm %x, %w, %b {transB = 1 : i64, operand_bits = 16 : i64} : (!x, !w, !b) -> !y
  %p = onnx.MatMul %y, %v {operand_bits = 16 : i64} : (!y, !v) -> !p
  %z = dist.reshard %p : !p to !z
  return %z : !z
}
