// One all_gather a dim, over all axes that leave it.
// RUN: shard-opt %s --shardc-partition | FileCheck %s

!whole = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{}, {}]>>
!heads = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{}, (4:"tp"=2, 4)]>>
!both = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{"dp"=2}, {"tp"=2}]>>
!one = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{"dp"=2 + "tp"=2}, {}]>>

dist.mesh @mesh <["dp"=2, "tp"=2]>

// CHECK-LABEL: func.func @heads(
// CHECK-SAME: %[[X:[^:]*]]: tensor<8x8xf32,
// CHECK: %[[Y:.*]] = dist.all_gather %[[X]] dim 1 over <["tp"=2]>
// CHECK: return %[[Y]] : tensor<8x16xf32,
func.func @heads(%x: !heads) -> !whole {
  %y = dist.reshard %x : !heads to !whole
  return %y : !whole
}

// CHECK-LABEL: func.func @both(
// CHECK-SAME: %[[X:[^:]*]]: tensor
// CHECK: %[[ROWS:.*]] = dist.all_gather %[[X]] dim 0 over <["dp"=2]>
// CHECK: %[[Y:.*]] = dist.all_gather %[[ROWS]] dim 1 over <["tp"=2]>
// CHECK: return %[[Y]]
func.func @both(%x: !both) -> !whole {
  %y = dist.reshard %x : !both to !whole
  return %y : !whole
}

// CHECK-LABEL: func.func @one(
// CHECK-SAME: %[[X:[^:]*]]: tensor
// CHECK: %[[Y:.*]] = dist.all_gather %[[X]] dim 0 over <["dp"=2, "tp"=2]>
// CHECK: return %[[Y]]
func.func @one(%x: !one) -> !whole {
  %y = dist.reshard %x : !one to !whole
  return %y : !whole
}
