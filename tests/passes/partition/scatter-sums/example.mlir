// A sum that two changes of sharding make whole and cut again is scattered.
// RUN: shard-opt %s --shardc-partition --shardc-scatter-sums --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s

!sum = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{}, {}], partial = {"tp"=2: sum}>>
!all = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{}, {}]>>
!mine = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{"tp"=2}, {}]>>
dist.mesh @mesh <["tp"=2]>

// CHECK-LABEL: func.func @stage0(
// CHECK-NEXT: %[[MINE:.*]] = dist.reduce_scatter %arg0 dim 0 over <["tp"=2]> "sum"
// CHECK-NEXT: return %[[MINE]]
func.func @stage0(%x: !sum) -> !mine {
  %all = dist.reshard %x : !sum to !all
  %mine = dist.reshard %all : !all to !mine
  return %mine : !mine
}
