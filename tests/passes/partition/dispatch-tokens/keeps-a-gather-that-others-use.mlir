// An expert that all tokens share needs all of them on every rank.
// RUN: shard-opt %s --shardc-partition --shardc-dispatch-tokens --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s

!x = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{"ep"=2}, {}]>>
!all = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{}, {}]>>
!sum = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{}, {}], partial = {"ep"=2: sum}>>
!chosen = tensor<8x2xi64, #dist.value<dims = [8, 2], sharding = [{}, {}]>>
!weights = tensor<8x2xf32, #dist.value<dims = [8, 2], sharding = [{}, {}]>>
!up = tensor<4x4x6xf32, #dist.value<dims = [4, 4, 6], sharding = [{"ep"=2}, {}, {}]>>
!down = tensor<4x6x4xf32, #dist.value<dims = [4, 6, 4], sharding = [{"ep"=2}, {}, {}]>>

dist.mesh @mesh <["ep"=2]>

// CHECK-LABEL: func.func @stage0(
// CHECK: %[[ALL:.*]] = dist.all_gather
// CHECK-NOT: dist.dispatch
// CHECK: onnx.MixtureOfExperts %[[ALL]]
// CHECK-NEXT: dist.combine
// CHECK-NEXT: onnx.Relu %[[ALL]]
func.func @stage0(%x: !x, %chosen: !chosen, %weights: !weights, %up: !up, %down: !down) -> (!x, !all) {
  %all = dist.reshard %x : !x to !all
  %y = onnx.MixtureOfExperts %all, %chosen, %weights, %up, %down : (!all, !chosen, !weights, !up, !down) -> !sum
  %mine = dist.reshard %y : !sum to !x
  %shared = onnx.Relu %all : (!all) -> !all
  return %mine, %shared : !x, !all
}
