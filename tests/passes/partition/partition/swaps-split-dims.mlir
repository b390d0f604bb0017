// From one dim to another over the same axis: each rank sends every other one its part
// of both. Where an axis stays behind, it is gathered.
// RUN: shard-opt %s --shardc-partition --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s

!rows = tensor<8x?xf32, #dist.value<dims = [8, n], sharding = [{"tp"=2}, {}]>>
!columns = tensor<8x?xf32, #dist.value<dims = [8, n], sharding = [{}, {"tp"=2}]>>
!both = tensor<8x?xf32, #dist.value<dims = [8, n], sharding = [{"cp"=2 + "tp"=2}, {}]>>

dist.mesh @mesh <["cp"=2, "tp"=2]>

// CHECK-LABEL: func.func @stage0(
// CHECK-SAME: %[[X:[^:]*]]: tensor{{[^%]*}}%[[Z:[^:]*]]: tensor
// CHECK: %[[Y:.*]] = dist.all_to_all %[[X]] dim 0 to 1 over <["tp"=2]>
// CHECK: %[[W:.*]] = dist.all_to_all %[[Z]] dim 0 to 1 over <["tp"=2]>
// CHECK: %[[V:.*]] = dist.all_gather %[[W]] dim 0 over <["cp"=2]>
// CHECK: return %[[Y]], %[[V]]
func.func @stage0(%x: !rows, %z: !both) -> (!columns, !columns) {
  %y = dist.reshard %x : !rows to !columns
  %v = dist.reshard %z : !both to !columns
  return %y, %v : !columns, !columns
}
