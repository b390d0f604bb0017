// Tokens of a sequence in two dims, split over tp as well: tp gathers and
// scatters as before.
// RUN: shard-opt %s --shardc-partition --shardc-dispatch-tokens --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s

!x = tensor<?x?x4xf32, #dist.value<dims = [b, s, 4], sharding = [{}, {"ep"=2 + "tp"=2}, {}]>>
!whole = tensor<?x?x4xf32, #dist.value<dims = [b, s, 4], sharding = [{}, {}, {}]>>
!all = tensor<?x4xf32, #dist.value<dims = [b * s, 4], sharding = [{}, {}]>>
!sum = tensor<?x4xf32, #dist.value<dims = [b * s, 4], sharding = [{}, {}], partial = {"ep"=2: sum, "tp"=2: sum}>>
!rows = tensor<?x4xf32, #dist.value<dims = [b * s, 4], sharding = [(b, s:"ep"=2 + "tp"=2), {}]>>
!chosen = tensor<?x2xi64, #dist.value<dims = [b * s, 2], sharding = [{}, {}]>>
!weights = tensor<?x2xf32, #dist.value<dims = [b * s, 2], sharding = [{}, {}]>>
!up = tensor<4x4x6xf32, #dist.value<dims = [4, 4, 6], sharding = [{"ep"=2}, {}, {"tp"=2}]>>
!down = tensor<4x6x4xf32, #dist.value<dims = [4, 6, 4], sharding = [{"ep"=2}, {"tp"=2}, {}]>>

dist.mesh @mesh <["ep"=2, "tp"=2]>

// CHECK-LABEL: func.func @stage0(
// CHECK-SAME: %[[X:[^:]*]]: tensor{{.*}}, %[[CHOSEN:[^:]*]]: tensor<?x2xi64
// CHECK: %[[EP:.*]] = dist.all_gather %[[X]] dim 1 over <["tp"=2]>
// CHECK-NEXT: %[[FLAT:.*]] = onnx.Reshape %[[EP]]
// CHECK-SAME: sharding = [(b, s:"ep"=2), {}]
// CHECK-NEXT: %[[ALL:.*]] = dist.dispatch %[[FLAT]] by %[[CHOSEN]] of 4 over <["ep"=2]>
// CHECK-NEXT: %[[Y:.*]] = onnx.MixtureOfExperts %[[ALL]], %[[CHOSEN]]
// CHECK-NEXT: %[[PART:.*]] = dist.combine %[[Y]] by %[[CHOSEN]] of 4 over <["ep"=2]>
// CHECK-SAME: partial = {"tp"=2: sum}
// CHECK-NEXT: %[[MINE:.*]] = dist.reduce_scatter %[[PART]] dim 0 over <["tp"=2]> "sum"
// CHECK-NEXT: return %[[MINE]]
func.func @stage0(%x: !x, %chosen: !chosen, %weights: !weights, %up: !up, %down: !down) -> !rows {
  %whole = dist.reshard %x : !x to !whole
  %all = onnx.Reshape %whole : (!whole) -> !all
  %y = onnx.MixtureOfExperts %all, %chosen, %weights, %up, %down : (!all, !chosen, !weights, !up, !down) -> !sum
  %mine = dist.reshard %y : !sum to !rows
  return %mine : !rows
}
