// A gather passes transposes and slices of other dims on its way, if they come before
// what is smaller; where the dim itself is cut, or others read the value, it stays.
// RUN: shard-opt %s --shardc-partition --shardc-move-gathers --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s

!part = tensor<?x8x16xf32, #dist.value<dims = [n, 8, 16], sharding = [{}, {}, {"tp"=2}]>>
!whole = tensor<?x8x16xf32, #dist.value<dims = [n, 8, 16], sharding = [{}, {}, {}]>>
!last = tensor<?x1x16xf32, #dist.value<dims = [n, 1, 16], sharding = [{}, {}, {}]>>
!first = tensor<?x8x4xf32, #dist.value<dims = [n, 8, 4], sharding = [{}, {}, {}]>>
dist.mesh @mesh <["tp"=2]>

// CHECK-LABEL: func.func @last_position(
// CHECK: %[[LAST:.*]] = onnx.Slice %arg0 {{.*}} -> tensor<?x1x8xf32
// CHECK: %[[WHOLE:.*]] = dist.all_gather %[[LAST]] dim 2
// CHECK: return %[[WHOLE]]
func.func @last_position(%x: !part) -> !last {
  %0 = dist.reshard %x : !part to !whole
  %1 = onnx.Slice %0 {bounds = #dist.dims<[0, 7, 0]>, steps = array<i64: 1, 1, 1>} : (!whole) -> !last
  return %1 : !last
}

// CHECK-LABEL: func.func @cuts_the_dim(
// CHECK: %[[WHOLE:.*]] = dist.all_gather %arg0 dim 2
// CHECK: onnx.Slice %[[WHOLE]]
func.func @cuts_the_dim(%x: !part) -> !first {
  %0 = dist.reshard %x : !part to !whole
  %1 = onnx.Slice %0 {bounds = #dist.dims<[0, 0, 0]>, steps = array<i64: 1, 1, 1>} : (!whole) -> !first
  return %1 : !first
}

// CHECK-LABEL: func.func @read_twice(
// CHECK: %[[WHOLE:.*]] = dist.all_gather %arg0 dim 2
// CHECK: onnx.Slice %[[WHOLE]]
func.func @read_twice(%x: !part) -> (!last, !whole) {
  %0 = dist.reshard %x : !part to !whole
  %1 = onnx.Slice %0 {bounds = #dist.dims<[0, 7, 0]>, steps = array<i64: 1, 1, 1>} : (!whole) -> !last
  return %1, %0 : !last, !whole
}
