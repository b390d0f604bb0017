// Round trip of every op.
// RUN: shard-opt %s | shard-opt | FileCheck %s

!whole = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{}, {}]>>
!sum = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{}, {}], partial = {"tp"=4: sum}>>
!split = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{}, {"tp"=4}]>>
!major = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{}, {"tp"=2}]>>
!rows = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{"tp"=4}, {}]>>
!zigzag = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{}, [8: (8:"tp"=4) | 8: (8:-"tp"=4)]]>>

// CHECK: dist.mesh @mesh <["dp"=2, "tp"=4]>
dist.mesh @mesh <["dp"=2, "tp"=4]>

// CHECK-LABEL: func.func @ops(
// CHECK-SAME: %[[P:[^:]*]]: tensor<{{[^>]*}}>>, %[[X:[^:]*]]: tensor
func.func @ops(%p: !sum, %x: !split) {
  // CHECK: dist.reshard %[[P]] {why = "the norm needs it whole"} : {{.*}} to tensor
  %0 = dist.reshard %p {why = "the norm needs it whole"} : !sum to !whole
  // CHECK: %[[SUM:.*]] = dist.all_reduce %[[P]] over <["tp"=4]> "sum" {why = "a sum"} : {{.*}} -> tensor
  %1 = dist.all_reduce %p over <["tp"=4]> "sum" {why = "a sum"} : !sum -> !whole
  // CHECK: dist.all_gather %[[X]] dim 1 over <["tp"=4]> : {{.*}} -> tensor
  %2 = dist.all_gather %x dim 1 over <["tp"=4]> : !split -> !whole
  // CHECK: dist.all_gather %[[X]] dim 1 over <["tp":(2)2]> : {{.*}} -> tensor
  %3 = dist.all_gather %x dim 1 over <["tp":(2)2]> : !split -> !major
  // CHECK: dist.reduce_scatter %[[P]] dim 1 over <["tp"=4]> "sum" : {{.*}} -> tensor
  %4 = dist.reduce_scatter %p dim 1 over <["tp"=4]> "sum" : !sum -> !split
  // CHECK: dist.all_to_all %[[X]] dim 1 to 0 over <["tp"=4]> : {{.*}} -> tensor
  %7 = dist.all_to_all %x dim 1 to 0 over <["tp"=4]> : !split -> !rows
  // CHECK: %[[Z:.*]] = dist.all_to_all %[[X]] dim 1 to 1 over <["tp"=4]> : {{.*}}[8: (8:"tp"=4) | 8: (8:-"tp"=4)]
  %8 = dist.all_to_all %x dim 1 to 1 over <["tp"=4]> : !split -> !zigzag
  // CHECK: dist.ring %[[Z]] dim 1 over <["tp"=4]> steps [0, 3, 2, 1] : {{.*}} -> tensor
  %9 = dist.ring %8 dim 1 over <["tp"=4]> steps [0, 3, 2, 1] : !zigzag -> !whole
  // CHECK: dist.slice %[[SUM]] : {{.*}} -> tensor
  %5 = dist.slice %1 : !whole -> !split
  // CHECK: dist.once %[[SUM]] over <["tp"=4]> : {{.*}} -> tensor
  %6 = dist.once %1 over <["tp"=4]> : !whole -> !sum
  return
}
