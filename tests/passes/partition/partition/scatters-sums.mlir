// A sum that is split afterwards over the axis of its parts is scattered.
// RUN: shard-opt %s --shardc-partition | FileCheck %s

!p = tensor<?x16xf32, #dist.value<dims = [seq, 16], sharding = [{}, {}], partial = {"tp"=2: sum}>>
!s = tensor<?x16xf32, #dist.value<dims = [seq, 16], sharding = [{"tp"=2}, {}]>>
!k = tensor<?x32xf32, #dist.value<dims = [seq, 32], sharding = [{}, {"tp"=2}]>>
!w = tensor<32x16xf32, #dist.value<dims = [32, 16], sharding = [{"tp"=2}, {}]>>
dist.mesh @mesh <["tp"=2]>

func.func @stage0(%x: !k, %w: !w) -> !s {
  %p = onnx.MatMul %x, %w : (!k, !w) -> !p
  %s = dist.reshard %p : !p to !s
  return %s : !s
}

// CHECK: func.func @stage0(
// CHECK: %[[P:.*]] = onnx.MatMul
// CHECK: %[[S:.*]] = dist.reduce_scatter %[[P]] dim 0 over <["tp"=2]> "sum" :
// CHECK: return %[[S]]
