// Round trip of every op and type.
// RUN: shard-opt %s | shard-opt | FileCheck %s

!v = !rt.view<f32, [n, 16], [16, 1], 0>
!w = !rt.view<f32, [n, 16], [16, 1], @tp * 64, replicated>

dist.mesh @mesh <["tp"=2]>

// CHECK: rt.program @stage0 {
rt.program @stage0 {
  // CHECK: %[[NONE:.*]] = rt.absent
  %none = rt.absent
  // CHECK: rt.weight "w" "model.bin" at 64 length 1024 f16 <dims = [16, 32], sharding = [{}, {"tp"=2}], local = [16, 16]>
  %0 = rt.weight "w" "model.bin" at 64 length 1024 f16 <dims = [16, 32], sharding = [{}, {"tp"=2}], local = [16, 16]>
  // CHECK: rt.constant dense<1.000000e+00> : tensor<4xf32> <dims = [4], sharding = [{}], local = [4]>
  %1 = rt.constant dense<1.0> : tensor<4xf32> <dims = [4], sharding = [{}], local = [4]>
  // CHECK: rt.alloc <[1024]> persistent
  %2 = rt.alloc <[1024]> persistent
  // CHECK: rt.ready
  rt.ready
  // CHECK: rt.guard <[n]> "at_least" <[1]> "a Reshape needs it"
  rt.guard <[n]> "at_least" <[1]> "a Reshape needs it"
  // CHECK: %[[X:.*]] = rt.input 0 "x" f32 <dims = [n, 16], sharding = [{}, {}], local = [n, 16]>
  %x = rt.input 0 "x" f32 <dims = [n, 16], sharding = [{}, {}], local = [n, 16]>
  // CHECK: %[[FROM:.*]] = rt.view %[[X]] : <f32, [n, 16], [16, 1], 0>
  %from = rt.view %x : <f32, [n, 16], [16, 1], 0>
  // CHECK: %[[BUFFER:.*]] = rt.alloc <[n * 64]>
  %b = rt.alloc <[n * 64]>
  %to = rt.view %b : <f32, [n, 16], [16, 1], 0>
  // CHECK: rt.call "Clip"(%[[FROM]], %[[NONE]] : !rt.view<f32, [n, 16], [16, 1], 0>, none) into(%{{.*}} : !rt.view<f32, [n, 16], [16, 1], 0>) {axis = array<i64: 0>}
  rt.call "Clip"(%from, %none : !v, none) into (%to : !v) {axis = array<i64: 0>}
  // CHECK: rt.call "Range"() into(%{{.*}} : !rt.view<f32, [n, 16], [16, 1], 0>) {}
  rt.call "Range"() into (%to : !v) {}
  // CHECK: %[[SUM:.*]] = rt.alloc
  %s = rt.alloc <[n * 64]>
  // CHECK: %[[WINDOW:.*]] = rt.view %[[SUM]] : <f32, [n, 16], [16, 1], @tp * 64, replicated>
  %window = rt.view %s : <f32, [n, 16], [16, 1], @tp * 64, replicated>
  // CHECK: rt.collective "all_reduce" %{{.*}} into %[[WINDOW]] over <["tp"=2]> {kind = "sum", why = "a sum"} : <f32, [n, 16], [16, 1], 0> -> <f32, [n, 16], [16, 1], @tp * 64, replicated>
  rt.collective "all_reduce" %to into %window over <["tp"=2]> {kind = "sum", why = "a sum"} : !v -> !w
  // CHECK: rt.collective "all_gather" {{.*}} {dim = 1 : i64, value = #dist.value<dims = [n, 16], sharding = [{}, {"tp"=2}]>}
  rt.collective "all_gather" %to into %window over <["tp"=2]> {dim = 1 : i64, value = #dist.value<dims = [n, 16], sharding = [{}, {"tp"=2}]>} : !v -> !w
  // CHECK: rt.free %[[BUFFER]]
  rt.free %b
  // CHECK: rt.output 0 "y" %[[WINDOW]] <dims = [n, 16], sharding = [{}, {}]> : <f32, [n, 16], [16, 1], @tp * 64, replicated>
  rt.output 0 "y" %window <dims = [n, 16], sharding = [{}, {}]> : !w
}
