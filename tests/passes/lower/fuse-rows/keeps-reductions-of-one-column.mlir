// A rank may have one column of what is reduced. In rows of many columns, or of all
// rows in place of columns, it would be reduced with others.
// RUN: shard-opt %s --shardc-fuse-rows | FileCheck %s

// CHECK: rt.call "ReduceMax"
// CHECK: rt.call "rows_Add_
rt.program @stage0 {
  rt.ready
  %x = rt.input 0 "x" f32 <dims = [b, 1], sharding = [{}, {}], local = [b, 1]>
  %xv = rt.view %x : <f32, [b, 1], [1, 1], 0>
  %0 = rt.alloc <[b * 4]>
  %m = rt.view %0 : <f32, [b, 1], [1, 1], 0>
  rt.call "ReduceMax"(%xv : !rt.view<f32, [b, 1], [1, 1], 0>) into(%m : !rt.view<f32, [b, 1], [1, 1], 0>) {axes = array<i64: 1>}
  %w = rt.input 1 "w" f32 <dims = [b, 64], sharding = [{}, {}], local = [b, 64]>
  %wv = rt.view %w : <f32, [b, 64], [64, 1], 0>
  %1 = rt.alloc <[b * 256]>
  %y = rt.view %1 : <f32, [b, 64], [64, 1], 0>
  rt.call "Add"(%wv, %m : !rt.view<f32, [b, 64], [64, 1], 0>, !rt.view<f32, [b, 1], [1, 1], 0>) into(%y : !rt.view<f32, [b, 64], [64, 1], 0>) {}
  rt.output 0 "y" %y <dims = [b, 64], sharding = [{}, {}], local = [b, 64]> : !rt.view<f32, [b, 64], [64, 1], 0>
}
