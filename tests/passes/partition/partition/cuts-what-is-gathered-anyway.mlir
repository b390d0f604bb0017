// A value that one user needs whole and another over a different dim is gathered once,
// whichever of them comes first.
// RUN: shard-opt %s --shardc-partition --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s

!rows = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{"tp"=2}, {}]>>
!columns = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{}, {"tp"=2}]>>
!whole = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{}, {}]>>

dist.mesh @mesh <["tp"=2]>

// CHECK-LABEL: func.func @stage0(
// CHECK-SAME: %[[A:[^:]*]]: tensor{{[^%]*}}%[[B:[^:]*]]: tensor
// CHECK: %[[AW:.*]] = dist.all_gather %[[A]] dim 0 over <["tp"=2]>
// CHECK: %[[AC:.*]] = dist.slice %[[AW]] :
// CHECK: %[[BW:.*]] = dist.all_gather %[[B]] dim 0 over <["tp"=2]>
// CHECK: %[[BC:.*]] = dist.slice %[[BW]] :
// CHECK: return %[[AC]], %[[AW]], %[[BW]], %[[BC]]
func.func @stage0(%a: !rows, %b: !rows) -> (!columns, !whole, !whole, !columns) {
  %ac = dist.reshard %a : !rows to !columns
  %aw = dist.reshard %a : !rows to !whole
  %bw = dist.reshard %b : !rows to !whole
  %bc = dist.reshard %b : !rows to !columns
  return %ac, %aw, %bw, %bc : !columns, !whole, !whole, !columns
}
