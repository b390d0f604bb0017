// From one dim to another over the same axis: gather the one, cut the other.
// RUN: shard-opt %s --shardc-partition | FileCheck %s

!rows = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{"tp"=2}, {}]>>
!columns = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{}, {"tp"=2}]>>

dist.mesh @mesh <["tp"=2]>

// CHECK-LABEL: func.func @stage0(
// CHECK-SAME: %[[X:[^:]*]]: tensor
// CHECK: %[[WHOLE:.*]] = dist.all_gather %[[X]] dim 0 over <["tp"=2]>
// CHECK: %[[Y:.*]] = dist.slice %[[WHOLE]] :
// CHECK: return %[[Y]]
func.func @stage0(%x: !rows) -> !columns {
  %y = dist.reshard %x : !rows to !columns
  return %y : !columns
}
