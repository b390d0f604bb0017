// What a rank holds whole it cuts by itself, in all dims at once.
// RUN: shard-opt %s --shardc-partition | FileCheck %s

!whole = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{}, {}]>>
!both = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{"dp"=2}, {"tp"=2}]>>
!rows = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{"dp"=2}, {}]>>

dist.mesh @mesh <["dp"=2, "tp"=2]>

// CHECK-LABEL: func.func @from_whole(
// CHECK-SAME: %[[X:[^:]*]]: tensor<8x16xf32,
// CHECK-NOT: dist.all
// CHECK: %[[Y:.*]] = dist.slice %[[X]] :
// CHECK-NEXT: return %[[Y]]
func.func @from_whole(%x: !whole) -> !both {
  %y = dist.reshard %x : !whole to !both
  return %y : !both
}

// CHECK-LABEL: func.func @from_rows(
// CHECK-SAME: %[[X:[^:]*]]: tensor
// CHECK: %[[Y:.*]] = dist.slice %[[X]] :
// CHECK-NEXT: return %[[Y]]
func.func @from_rows(%x: !rows) -> !both {
  %y = dist.reshard %x : !rows to !both
  return %y : !both
}
