// Sums before maxima; axes of one kind go together.
// RUN: shard-opt %s --shardc-partition | FileCheck %s

!whole = tensor<8xf32, #dist.value<dims = [8], sharding = [{}]>>
!max = tensor<8xf32, #dist.value<dims = [8], sharding = [{}], partial = {"tp"=2: max}>>
!sums = tensor<8xf32, #dist.value<dims = [8], sharding = [{}], partial = {"dp"=2: sum, "tp"=2: sum}>>
!mixed = tensor<8xf32, #dist.value<dims = [8], sharding = [{}], partial = {"dp"=2: max, "tp"=2: sum}>>

dist.mesh @mesh <["dp"=2, "tp"=2]>

// CHECK-LABEL: func.func @max(
// CHECK: dist.all_reduce %{{.*}} over <["tp"=2]> "max"
func.func @max(%x: !max) -> !whole {
  %y = dist.reshard %x : !max to !whole
  return %y : !whole
}

// CHECK-LABEL: func.func @sums(
// CHECK: dist.all_reduce %{{.*}} over <["dp"=2, "tp"=2]> "sum"
// CHECK-NEXT: return
func.func @sums(%x: !sums) -> !whole {
  %y = dist.reshard %x : !sums to !whole
  return %y : !whole
}

// CHECK-LABEL: func.func @mixed(
// CHECK: %[[SUM:.*]] = dist.all_reduce %{{.*}} over <["tp"=2]> "sum"
// CHECK: %[[MAX:.*]] = dist.all_reduce %[[SUM]] over <["dp"=2]> "max"
// CHECK: return %[[MAX]]
func.func @mixed(%x: !mixed) -> !whole {
  %y = dist.reshard %x : !mixed to !whole
  return %y : !whole
}
