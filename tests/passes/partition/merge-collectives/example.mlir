// Of what is quantised as it comes, the maximum and the minimum are found together.
// RUN: shard-opt %s --shardc-partition --shardc-merge-collectives --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s
// RUN: shard-opt %s --shardc-fingerprint --shardc-partition --shardc-merge-collectives --shardc-lower --shardc-verify-phase=phase=lowered | FileCheck %s --check-prefix=LOWERED

!x = tensor<?x16xf32, #dist.value<dims = [n, 16], sharding = [{}, {"tp"=2}]>>
!max = tensor<f32, #dist.value<dims = [], sharding = [], partial = {"tp"=2: max}>>
!min = tensor<f32, #dist.value<dims = [], sharding = [], partial = {"tp"=2: min}>>
!one = tensor<f32, #dist.value<dims = [], sharding = []>>
dist.mesh @mesh <["tp"=2]>

// CHECK-LABEL: func.func @stage0(
// CHECK: %[[MAX:.*]] = onnx.ReduceMax
// CHECK: %[[MIN:.*]] = onnx.ReduceMin
// CHECK-NEXT: %[[A:.*]] = dist.all_reduce %[[MAX]] over <["tp"=2]> "max" {dist.together = 0 : i64}
// CHECK-NEXT: %[[B:.*]] = dist.all_reduce %[[MIN]] over <["tp"=2]> "min" {dist.together = 0 : i64}
// CHECK-NEXT: %[[ABS:.*]] = onnx.Abs %[[A]]
// CHECK-NEXT: onnx.Sub %[[ABS]], %[[B]]

// LOWERED-LABEL: rt.program @stage0
// LOWERED: rt.call "Copy"
// LOWERED: rt.call "Neg"
// LOWERED: rt.collective "all_reduce" {{.*}} {kind = "max"} : <f32, [2]
// LOWERED: rt.call "Neg"
// LOWERED-NOT: rt.collective
func.func @stage0(%x: !x) -> !one {
  %0 = onnx.ReduceMax %x {axes = array<i64: 0, 1>, keepdims = 0 : i64} : (!x) -> !max
  %1 = dist.reshard %0 : !max to !one
  %2 = onnx.Abs %1 : (!one) -> !one
  %3 = onnx.ReduceMin %x {axes = array<i64: 0, 1>, keepdims = 0 : i64} : (!x) -> !min
  %4 = dist.reshard %3 : !min to !one
  %5 = onnx.Sub %2, %4 : (!one, !one) -> !one
  return %5 : !one
}
