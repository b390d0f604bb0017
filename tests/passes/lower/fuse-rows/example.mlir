// Calls over the same rows that hand a value on are one kernel; the value needs
// no buffer, and equal bodies are one kernel.
// RUN: shard-opt %s --shardc-fuse-rows | FileCheck %s

!view = !rt.view<f32, [b, s, 256], [s * 256, 256, 1], 0, replicated>

rt.program @stage0 {
  rt.ready
  %gate = rt.input 0 "gate" f32 <dims = [b, s, 256], sharding = [{}, {}, {}], local = [b, s, 256]>
  %g = rt.view %gate : <f32, [b, s, 256], [s * 256, 256, 1], 0, replicated>
  %up = rt.input 1 "up" f32 <dims = [b, s, 256], sharding = [{}, {}, {}], local = [b, s, 256]>
  %u = rt.view %up : <f32, [b, s, 256], [s * 256, 256, 1], 0, replicated>
  %0 = rt.alloc <[b * s * 1024]>
  %a = rt.view %0 : <f32, [b, s, 256], [s * 256, 256, 1], 0, replicated>
  rt.call "Swish"(%g : !view) into(%a : !view) {alpha = 1.0 : f32} loc("silu")
  %1 = rt.alloc <[b * s * 1024]>
  %y = rt.view %1 : <f32, [b, s, 256], [s * 256, 256, 1], 0, replicated>
  rt.call "Mul"(%a, %u : !view, !view) into(%y : !view) {} loc("mul")
  rt.free %0
  %2 = rt.alloc <[b * s * 1024]>
  %c = rt.view %2 : <f32, [b, s, 256], [s * 256, 256, 1], 0, replicated>
  rt.call "Swish"(%u : !view) into(%c : !view) {alpha = 1.0 : f32}
  %3 = rt.alloc <[b * s * 1024]>
  %z = rt.view %3 : <f32, [b, s, 256], [s * 256, 256, 1], 0, replicated>
  rt.call "Mul"(%c, %g : !view, !view) into(%z : !view) {}
  rt.free %2
  rt.output 0 "y" %y <dims = [b, s, 256], sharding = [{}, {}, {}], local = [b, s, 256]> : !view
  rt.output 1 "z" %z <dims = [b, s, 256], sharding = [{}, {}, {}], local = [b, s, 256]> : !view
}

// CHECK-LABEL: rt.program @stage0
// CHECK: %[[GATE:.*]] = rt.input 0
// CHECK: %[[UP:.*]] = rt.input 1
// CHECK: %[[TO:.*]] = rt.alloc
// CHECK-NOT: rt.call "Swish"
// CHECK: %[[G:.*]] = rt.view %[[GATE]] :
// CHECK: %[[U:.*]] = rt.view %[[UP]] :
// CHECK: %[[Y:.*]] = rt.view %[[TO]] :
// CHECK: rt.call "[[KERNEL:rows_Swish_Mul_[0-9a-f]+]]"(%[[G]], %[[U]] : {{.*}}) into(%[[Y]] : {{.*}}) {}
// CHECK-NOT: rt.free
// CHECK: rt.call "[[KERNEL]]"
// CHECK: rt.output 0 "y"

// CHECK: rt.kernel @[[KERNEL]] ["column", "column"] -> ["column"] {
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK: math.exp
// CHECK: %[[S:.*]] = arith.divf %[[A]],
// CHECK: %[[R:.*]] = arith.mulf %[[S]], %[[B]] : f32
// CHECK: rt.yield %[[R]] : f32
// CHECK-NOT: rt.kernel
