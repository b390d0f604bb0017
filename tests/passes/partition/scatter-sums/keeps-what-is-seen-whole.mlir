// Somebody needs all of the sum; or two want parts of different dims; or only one of
// two axes cuts it.
// RUN: shard-opt %s --shardc-partition --shardc-scatter-sums --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s

!sum = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{}, {}], partial = {"tp"=2: sum}>>
!both = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{}, {}], partial = {"ep"=2: sum, "tp"=2: sum}>>
!all = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{}, {}]>>
!rows = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{"tp"=2}, {}]>>
!columns = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{}, {"tp"=2}]>>
dist.mesh @mesh <["ep"=2, "tp"=2]>

// CHECK-LABEL: func.func @whole(
// CHECK: dist.all_reduce
// CHECK: dist.slice
func.func @whole(%x: !sum) -> (!all, !rows) {
  %all = dist.reshard %x : !sum to !all
  %rows = dist.reshard %all : !all to !rows
  return %all, %rows : !all, !rows
}

// CHECK-LABEL: func.func @dims(
// CHECK: dist.all_reduce
// CHECK: dist.slice
// CHECK: dist.slice
func.func @dims(%x: !sum) -> (!rows, !columns) {
  %all = dist.reshard %x : !sum to !all
  %rows = dist.reshard %all : !all to !rows
  %columns = dist.reshard %all : !all to !columns
  return %rows, %columns : !rows, !columns
}

// CHECK-LABEL: func.func @axes(
// CHECK: dist.all_reduce
// CHECK: dist.slice
func.func @axes(%x: !both) -> !rows {
  %all = dist.reshard %x : !both to !all
  %rows = dist.reshard %all : !all to !rows
  return %rows : !rows
}
