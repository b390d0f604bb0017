// One memory for past and present: room to grow where a branch appends, the
// input itself where present is past, a copy where present is computed.
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s

!new = tensor<4x?xf32, #dist.value<dims = [4, s], sharding = [{"tp"=2}, {}]>>
!past = tensor<4x?xf32, #dist.value<dims = [4, p], sharding = [{"tp"=2}, {}]>>
!all = tensor<4x?xf32, #dist.value<dims = [4, p + s], sharding = [{"tp"=2}, {}]>>
!unread = tensor<4x?xf32, #dist.value<dims = [4, q], sharding = [{}, {}]>>

dist.mesh @mesh <["tp"=2]>

// CHECK-LABEL: rt.program @prompt
// CHECK: %[[SELF:.*]] = rt.alloc <[max(s, "capacity of caches") * 8]>
// CHECK-NEXT: %[[PRESENT:.*]] = rt.view %[[SELF]] : <f32, [2, s], [max(s, "capacity of caches"), 1], 0>
// CHECK-NEXT: rt.cache "set" %[[SELF]] {dim = 1 : i64, input = 1 : i64, output = 0 : i64}
// CHECK-NEXT: rt.call "Copy"({{.*}}) into(%[[PRESENT]] :
// CHECK: %[[CROSS:.*]] = rt.alloc <[s * 8]>
// CHECK: rt.cache "set" %[[CROSS]] {input = 2 : i64, output = 1 : i64}
func.func @prompt(%x: !new, %past: !unread, %cross: !unread)
    -> (!new {onnx.cache = {input = 1 : i64, kind = "set", dim = 1 : i64}},
        !new {onnx.cache = {input = 2 : i64, kind = "set"}})
    attributes {onnx.when = {use_cache = false}} {
  %k = onnx.Relu %x : (!new) -> !new
  return %k, %x : !new, !new
}

// CHECK-LABEL: rt.program @step
// CHECK: %[[PAST:.*]] = rt.input 1 {{.*}} cache 1
// CHECK: %[[KEPT:.*]] = rt.input 2
// CHECK-NOT: cache 1
// CHECK: rt.cache "keep" %[[KEPT]] {input = 2 : i64, output = 1 : i64}
// CHECK: %[[SELF:.*]] = rt.alloc <[max(p + s, "capacity of caches") * 8]>
// CHECK: rt.cache "append" %[[SELF]] {dim = 1 : i64, input = 1 : i64, output = 0 : i64}
// CHECK: rt.output 0
// CHECK-NOT: rt.call
// CHECK: %[[OUT:.*]] = rt.view %[[KEPT]]
// CHECK-NEXT: rt.output 1 "" %[[OUT]]
func.func @step(%x: !new, %past: !past, %cross: !past)
    -> (!all {onnx.cache = {input = 1 : i64, kind = "append", dim = 1 : i64}},
        !past {onnx.cache = {input = 2 : i64, kind = "keep"}})
    attributes {onnx.when = {use_cache = true}} {
  %all = onnx.Concat %past, %x {axis = 1 : i64} : (!past, !new) -> !all
  return %all, %cross : !all, !past
}
