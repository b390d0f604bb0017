// A rank cannot keep what one branch splits otherwise than the other: past of
// that cache comes with the inputs.
// RUN: shard-opt %s --shardc-partition --shardc-lower --verify-diagnostics | FileCheck %s

!new = tensor<4x?xf32, #dist.value<dims = [4, s], sharding = [{}, {}]>>
!past = tensor<4x?xf32, #dist.value<dims = [4, p], sharding = [{"tp"=2}, {}]>>
!unread = tensor<4x?xf32, #dist.value<dims = [4, q], sharding = [{}, {}]>>

dist.mesh @mesh <["tp"=2]>

// CHECK-NOT: rt.cache
// expected-note @below {{the other profile is here}}
func.func @prompt(%x: !new, %past: !unread {onnx.name = "past"})
    -> (!new {onnx.cache = {input = 1 : i64, kind = "set"}})
    attributes {onnx.when = {use_cache = false}} {
  %k = onnx.Relu %x : (!new) -> !new
  return %k : !new
}

// expected-warning @below {{the cache of "past" is split over the ranks otherwise than in another profile}}
func.func @step(%x: !new, %past: !past {onnx.name = "past"})
    -> (!past {onnx.cache = {input = 1 : i64, kind = "keep"}})
    attributes {onnx.when = {use_cache = true}} {
  return %past : !past
}
