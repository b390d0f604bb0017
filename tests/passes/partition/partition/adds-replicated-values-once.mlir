// A bias that joins a partial sum: the first rank keeps it, the others hold 0.
// RUN: shard-opt %s --shardc-partition --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s

!whole = tensor<16xf32, #dist.value<dims = [16], sharding = [{}]>>
!partial = tensor<16xf32, #dist.value<dims = [16], sharding = [{}], partial = {"tp"=2: sum}>>

dist.mesh @mesh <["tp"=2]>

// CHECK-LABEL: func.func @stage0(
// CHECK-SAME: %[[X:[^:]*]]: tensor
// CHECK: %[[Y:.*]] = dist.once %[[X]] over <["tp"=2]>
// CHECK: %[[NEG:.*]] = onnx.Neg %[[Y]]
// CHECK: %[[SUM:.*]] = dist.all_reduce %[[NEG]] over <["tp"=2]> "sum"
// CHECK: return %[[SUM]]
func.func @stage0(%x: !whole) -> !whole {
  %p = dist.reshard %x : !whole to !partial
  %n = onnx.Neg %p : (!partial) -> !partial
  %y = dist.reshard %n : !partial to !whole
  return %y : !whole
}
