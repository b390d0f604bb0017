// "ep" splits the batch and "tp" the sequence: the gather of positions comes first, so
// that what is left to gather is rows of tokens.
// RUN: shard-opt %s --shardc-partition --shardc-dispatch-tokens --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s

!x = tensor<4x6x4xf32, #dist.value<dims = [4, 6, 4], sharding = [{"ep"=2}, {"tp"=2}, {}]>>
!seen = tensor<4x6x4xf32, #dist.value<dims = [4, 6, 4], sharding = [{}, {}, {}]>>
!all = tensor<24x4xf32, #dist.value<dims = [24, 4], sharding = [{}, {}]>>
!sum = tensor<24x4xf32, #dist.value<dims = [24, 4], sharding = [{}, {}], partial = {"ep"=2: sum}>>
!mine = tensor<24x4xf32, #dist.value<dims = [24, 4], sharding = [(4:"ep"=2, 6), {}]>>
!chosen = tensor<24x2xi64, #dist.value<dims = [24, 2], sharding = [{}, {}]>>
!weights = tensor<24x2xf32, #dist.value<dims = [24, 2], sharding = [{}, {}]>>
!up = tensor<4x4x6xf32, #dist.value<dims = [4, 4, 6], sharding = [{"ep"=2}, {}, {}]>>
!down = tensor<4x6x4xf32, #dist.value<dims = [4, 6, 4], sharding = [{"ep"=2}, {}, {}]>>

dist.mesh @mesh <["ep"=2, "tp"=2]>

// CHECK: %[[POSITIONS:.*]] = dist.all_gather %{{.*}} dim 1 over <["tp"=2]>
// CHECK: %[[TOKENS:.*]] = onnx.Reshape %[[POSITIONS]]
// CHECK: %[[ALL:.*]] = dist.dispatch %[[TOKENS]] by %{{.*}} of 4 over <["ep"=2]>
// CHECK: onnx.MixtureOfExperts %[[ALL]]
// CHECK: dist.combine
func.func @stage0(%x: !x, %chosen: !chosen, %weights: !weights, %up: !up, %down: !down) -> !mine {
  %seen = dist.reshard %x : !x to !seen
  %all = onnx.Reshape %seen : (!seen) -> !all
  %y = onnx.MixtureOfExperts %all, %chosen, %weights, %up, %down : (!all, !chosen, !weights, !up, !down) -> !sum
  %mine = dist.reshard %y : !sum to !mine
  return %mine : !mine
}
