// The choice of rows is a sum over "tp": a dim of it cannot be split over the same
// ranks.
// RUN: shard-opt %s --shardc-partition --shardc-move-gathers --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s

!i = tensor<2xi64, #dist.value<dims = [2], sharding = [{}]>>
!some = tensor<2x1xf32, #dist.value<dims = [2, 1], sharding = [{}, {}]>>
!part = tensor<4x1xf32, #dist.value<dims = [4, 1], sharding = [{"tp"=2}, {}]>>
!rows = tensor<2x1xf32, #dist.value<dims = [2, 1], sharding = [{}, {}], partial = {"tp"=2: sum}>>
dist.mesh @mesh <["tp"=2]>

// CHECK-LABEL: func.func @stage0(
// CHECK-SAME: %[[I:[^:]*]]: tensor<1xi64{{.*}}, %[[X:[^:]*]]: tensor
// CHECK-NEXT: %[[ALL:.*]] = dist.all_gather %[[I]]
// CHECK-NEXT: %[[ROWS:.*]] = onnx.Gather %[[X]], %[[ALL]]
// CHECK-SAME: partial = {"tp"=2: sum}
func.func @stage0(%i: tensor<2xi64, #dist.value<dims = [2], sharding = [{"tp"=2}]>>, %x: !part) -> !some {
  %all = dist.reshard %i : tensor<2xi64, #dist.value<dims = [2], sharding = [{"tp"=2}]>> to !i
  %rows = onnx.Gather %x, %all : (!part, !i) -> !rows
  %y = dist.reshard %rows : !rows to !some
  return %y : !some
}
