// A cast to a narrower type runs before the gather, one to a wider type behind it.
// RUN: shard-opt %s --shardc-partition --shardc-move-gathers --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s

!part = tensor<?x16xf32, #dist.value<dims = [n, 16], sharding = [{}, {"tp"=2}]>>
!whole = tensor<?x16xf32, #dist.value<dims = [n, 16], sharding = [{}, {}]>>
!part16 = tensor<?x16xf16, #dist.value<dims = [n, 16], sharding = [{}, {"tp"=2}]>>
!whole16 = tensor<?x16xf16, #dist.value<dims = [n, 16], sharding = [{}, {}]>>
dist.mesh @mesh <["tp"=2]>

// CHECK-LABEL: func.func @narrows(
// CHECK: %[[NARROW:.*]] = onnx.Cast %arg0 {{.*}} -> tensor<?x8xf16
// CHECK: %[[WHOLE:.*]] = dist.all_gather %[[NARROW]] dim 1 over <["tp"=2]> {{.*}} -> tensor<?x16xf16
// CHECK: return %[[WHOLE]]
func.func @narrows(%x: !part) -> !whole16 {
  %0 = dist.reshard %x : !part to !whole
  %1 = onnx.Cast %0 {to = 10 : i64} : (!whole) -> !whole16
  return %1 : !whole16
}

// CHECK-LABEL: func.func @widens(
// CHECK: %[[WHOLE:.*]] = dist.all_gather %arg0 dim 1 over <["tp"=2]> {{.*}} -> tensor<?x16xf16
// CHECK: %[[WIDE:.*]] = onnx.Cast %[[WHOLE]] {{.*}} -> tensor<?x16xf32
// CHECK: return %[[WIDE]]
func.func @widens(%x: !part16) -> !whole {
  %0 = onnx.Cast %x {to = 1 : i64} : (!part16) -> !part
  %1 = dist.reshard %0 : !part to !whole
  return %1 : !whole
}
