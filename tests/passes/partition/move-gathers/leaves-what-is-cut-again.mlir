// What a gather has passed is cut as it was before: nothing is gathered.
// RUN: shard-opt %s --shardc-partition --shardc-move-gathers --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s

!part = tensor<?x16xf32, #dist.value<dims = [n, 16], sharding = [{}, {"tp"=2}]>>
!whole = tensor<?x16xf32, #dist.value<dims = [n, 16], sharding = [{}, {}]>>
!part16 = tensor<?x16xf16, #dist.value<dims = [n, 16], sharding = [{}, {"tp"=2}]>>
!whole16 = tensor<?x16xf16, #dist.value<dims = [n, 16], sharding = [{}, {}]>>
dist.mesh @mesh <["tp"=2]>

// CHECK-LABEL: func.func @narrows(
// CHECK-NEXT: %[[NARROW:.*]] = onnx.Cast %arg0 {{.*}} -> tensor<?x8xf16
// CHECK-NEXT: return %[[NARROW]]
func.func @narrows(%x: !part) -> !part16 {
  %0 = dist.reshard %x : !part to !whole
  %1 = onnx.Cast %0 {to = 10 : i64} : (!whole) -> !whole16
  %2 = dist.reshard %1 : !whole16 to !part16
  return %2 : !part16
}
