// Two casts of one value: it is gathered once for both. What a rank had whole before it
// was cut needs no gather.
// RUN: shard-opt %s --shardc-partition --shardc-move-gathers --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s

!part16 = tensor<?x16xf16, #dist.value<dims = [n, 16], sharding = [{}, {"tp"=2}]>>
!whole16 = tensor<?x16xf16, #dist.value<dims = [n, 16], sharding = [{}, {}]>>
!part = tensor<?x16xf32, #dist.value<dims = [n, 16], sharding = [{}, {"tp"=2}]>>
!whole = tensor<?x16xf32, #dist.value<dims = [n, 16], sharding = [{}, {}]>>
!part64 = tensor<?x16xf64, #dist.value<dims = [n, 16], sharding = [{}, {"tp"=2}]>>
!whole64 = tensor<?x16xf64, #dist.value<dims = [n, 16], sharding = [{}, {}]>>
dist.mesh @mesh <["tp"=2]>

// CHECK-LABEL: func.func @twice(
// CHECK: %[[WHOLE:.*]] = dist.all_gather %arg0 dim 1
// CHECK-DAG: %[[A:.*]] = onnx.Cast %[[WHOLE]] {to = 1 : i64}
// CHECK-DAG: %[[B:.*]] = onnx.Cast %[[WHOLE]] {to = 11 : i64}
// CHECK-NOT: dist.all_gather
// CHECK: return %[[A]], %[[B]]
func.func @twice(%x: !part16) -> (!whole, !whole64) {
  %0 = onnx.Cast %x {to = 1 : i64} : (!part16) -> !part
  %1 = dist.reshard %0 : !part to !whole
  %2 = onnx.Cast %x {to = 11 : i64} : (!part16) -> !part64
  %3 = dist.reshard %2 : !part64 to !whole64
  return %1, %3 : !whole, !whole64
}

// CHECK-LABEL: func.func @cut_before(
// CHECK-NOT: dist.all_gather
// CHECK: onnx.Cast %arg0
// CHECK-NOT: dist.all_gather
// CHECK: return
func.func @cut_before(%x: !whole16) -> (!whole, !part16) {
  %0 = dist.reshard %x : !whole16 to !part16
  %1 = onnx.Cast %0 {to = 1 : i64} : (!part16) -> !part
  %2 = dist.reshard %1 : !part to !whole
  return %2, %0 : !whole, !part16
}
