// What is dispatched has rows for its own experts only.
// RUN: shard-opt %s --shardc-verify-phase="phase=partitioned allows-unrecorded=true" --split-input-file --verify-diagnostics

!gx = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{"ep"=2}, {}]>>
!gall = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{}, {}]>>
!gchosen = tensor<8x2xi64, #dist.value<dims = [8, 2], sharding = [{}, {}]>>
!x = tensor<4x4xf32, #dist.value<dims = [8, 4], sharding = [{"ep"=2}, {}], local = [4, 4]>>
!all = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{}, {}], local = [8, 4]>>
!chosen = tensor<8x2xi64, #dist.value<dims = [8, 2], sharding = [{}, {}], local = [8, 2]>>
dist.mesh @mesh <["ep"=2]>
func.func @stage0(%x: !x, %chosen: !chosen) -> !all attributes {dist.sharded = @sharded} {
  // expected-error@+1 {{routes tokens of something else than onnx.MixtureOfExperts}}
  %all = dist.dispatch %x by %chosen of 4 over <["ep"=2]> : !x, !chosen -> !all
  %y = onnx.Relu %all : (!all) -> !all
  return %y : !all
}
func.func private @sharded(%x: !gx, %chosen: !gchosen) -> !gall {
  %all = dist.reshard %x : !gx to !gall
  %y = onnx.Relu %all : (!gall) -> !gall
  return %y : !gall
}

// -----

!gx = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{"ep"=2}, {}]>>
!gall = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{}, {}]>>
!gsum = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{}, {}], partial = {"ep"=2: sum}>>
!gchosen = tensor<8x2xi64, #dist.value<dims = [8, 2], sharding = [{}, {}]>>
!gweights = tensor<8x2xf32, #dist.value<dims = [8, 2], sharding = [{}, {}]>>
!gup = tensor<4x4x6xf32, #dist.value<dims = [4, 4, 6], sharding = [{"ep"=2}, {}, {}]>>
!gdown = tensor<4x6x4xf32, #dist.value<dims = [4, 6, 4], sharding = [{"ep"=2}, {}, {}]>>
!x = tensor<4x4xf32, #dist.value<dims = [8, 4], sharding = [{"ep"=2}, {}], local = [4, 4]>>
!all = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{}, {}], local = [8, 4]>>
!sum = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{}, {}], partial = {"ep"=2: sum}, local = [8, 4]>>
!chosen = tensor<8x2xi64, #dist.value<dims = [8, 2], sharding = [{}, {}], local = [8, 2]>>
!weights = tensor<8x2xf32, #dist.value<dims = [8, 2], sharding = [{}, {}], local = [8, 2]>>
!up = tensor<2x4x6xf32, #dist.value<dims = [4, 4, 6], sharding = [{"ep"=2}, {}, {}], local = [2, 4, 6]>>
!down = tensor<2x6x4xf32, #dist.value<dims = [4, 6, 4], sharding = [{"ep"=2}, {}, {}], local = [2, 6, 4]>>
dist.mesh @mesh <["ep"=2]>
func.func @stage0(%x: !x, %chosen: !chosen, %other: !chosen, %weights: !weights, %up: !up, %down: !down) -> !x attributes {dist.sharded = @sharded} {
  // expected-error@+1 {{does not route as these experts need: it goes by other choices}}
  %all = dist.dispatch %x by %other of 4 over <["ep"=2]> : !x, !chosen -> !all
  // expected-note@+1 {{they are here}}
  %y = onnx.MixtureOfExperts %all, %chosen, %weights, %up, %down : (!all, !chosen, !weights, !up, !down) -> !sum
  %mine = dist.combine %y by %chosen of 4 over <["ep"=2]> : !sum, !chosen -> !x
  return %mine : !x
}
func.func private @sharded(%x: !gx, %chosen: !gchosen, %other: !gchosen, %weights: !gweights, %up: !gup, %down: !gdown) -> !gx {
  %all = dist.reshard %x : !gx to !gall
  %y = onnx.MixtureOfExperts %all, %chosen, %weights, %up, %down : (!gall, !gchosen, !gweights, !gup, !gdown) -> !gsum
  %mine = dist.reshard %y : !gsum to !gx
  return %mine : !gx
}

// -----

!gx = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{"ep"=2}, {}]>>
!gall = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{}, {}]>>
!gsum = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{}, {}], partial = {"ep"=2: sum}>>
!gchosen = tensor<8x2xi64, #dist.value<dims = [8, 2], sharding = [{}, {}]>>
!gweights = tensor<8x2xf32, #dist.value<dims = [8, 2], sharding = [{}, {}]>>
!gup = tensor<4x4x6xf32, #dist.value<dims = [4, 4, 6], sharding = [{}, {}, {"ep"=2}]>>
!gdown = tensor<4x6x4xf32, #dist.value<dims = [4, 6, 4], sharding = [{}, {"ep"=2}, {}]>>
!x = tensor<4x4xf32, #dist.value<dims = [8, 4], sharding = [{"ep"=2}, {}], local = [4, 4]>>
!all = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{}, {}], local = [8, 4]>>
!sum = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{}, {}], partial = {"ep"=2: sum}, local = [8, 4]>>
!chosen = tensor<8x2xi64, #dist.value<dims = [8, 2], sharding = [{}, {}], local = [8, 2]>>
!weights = tensor<8x2xf32, #dist.value<dims = [8, 2], sharding = [{}, {}], local = [8, 2]>>
!up = tensor<4x4x3xf32, #dist.value<dims = [4, 4, 6], sharding = [{}, {}, {"ep"=2}], local = [4, 4, 3]>>
!down = tensor<4x3x4xf32, #dist.value<dims = [4, 6, 4], sharding = [{}, {"ep"=2}, {}], local = [4, 3, 4]>>
dist.mesh @mesh <["ep"=2]>
func.func @stage0(%x: !x, %chosen: !chosen, %weights: !weights, %up: !up, %down: !down) -> !x attributes {dist.sharded = @sharded} {
  %all = dist.all_gather %x dim 0 over <["ep"=2]> : !x -> !all
  // expected-note@+1 {{they are here}}
  %y = onnx.MixtureOfExperts %all, %chosen, %weights, %up, %down : (!all, !chosen, !weights, !up, !down) -> !sum
  // expected-error@+1 {{does not route as these experts need: their experts lie on the ranks otherwise}}
  %mine = dist.combine %y by %chosen of 4 over <["ep"=2]> : !sum, !chosen -> !x
  return %mine : !x
}
func.func private @sharded(%x: !gx, %chosen: !gchosen, %weights: !gweights, %up: !gup, %down: !gdown) -> !gx {
  %all = dist.reshard %x : !gx to !gall
  %y = onnx.MixtureOfExperts %all, %chosen, %weights, %up, %down : (!gall, !gchosen, !gweights, !gup, !gdown) -> !gsum
  %mine = dist.reshard %y : !gsum to !gx
  return %mine : !gx
}
