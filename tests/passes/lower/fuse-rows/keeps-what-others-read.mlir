// A residual that is read again is an output of the kernel; a norm's scale has
// one element a column, whatever the row.
// RUN: shard-opt %s --shardc-fuse-rows | FileCheck %s

!view = !rt.view<f32, [b, 64], [64, 1], 0>

rt.program @stage0 {
  %weight = rt.constant dense<1.0> : tensor<64xf32> <dims = [64], sharding = [{}], local = [64]>
  %w = rt.view %weight : <f32, [64], [1], 0>
  rt.ready
  %x0 = rt.input 0 "x" f32 <dims = [b, 64], sharding = [{}, {}], local = [b, 64]>
  %x = rt.view %x0 : <f32, [b, 64], [64, 1], 0>
  %0 = rt.alloc <[b * 256]>
  %h = rt.view %0 : <f32, [b, 64], [64, 1], 0>
  rt.call "Add"(%x, %x : !view, !view) into(%h : !view) {}
  %1 = rt.alloc <[b * 256]>
  %n = rt.view %1 : <f32, [b, 64], [64, 1], 0>
  rt.call "RMSNormalization"(%h, %w : !view, !rt.view<f32, [64], [1], 0>) into(%n : !view) {axis = array<i64: 1>, epsilon = 1.0e-6 : f32}
  rt.output 0 "h" %h <dims = [b, 64], sharding = [{}, {}], local = [b, 64]> : !view
  rt.output 1 "n" %n <dims = [b, 64], sharding = [{}, {}], local = [b, 64]> : !view
}

// CHECK: rt.view %{{.*}} : <f32, [b, 64], [0, 1], 0>
// CHECK: rt.call "rows_Add_RMSNormalization_{{.*}}"(%{{.*}}, %{{.*}} : {{.*}}) into(%{{.*}}, %{{.*}} : {{.*}}) {}
// CHECK: rt.kernel @rows_Add_RMSNormalization_{{.*}} ["column", "column"] -> ["column", "column"]
// CHECK: ^bb0(%[[X:.*]]: f32, %[[W:.*]]: f32):
// CHECK: %[[H:.*]] = arith.addf %[[X]], %[[X]]
// CHECK: %[[SQUARE:.*]] = arith.mulf %[[H]], %[[H]]
// CHECK: rt.reduce "sum" %[[SQUARE]]
// CHECK: %[[N:.*]] = arith.mulf %{{.*}}, %[[W]]
// CHECK: rt.yield %[[H]], %[[N]]
