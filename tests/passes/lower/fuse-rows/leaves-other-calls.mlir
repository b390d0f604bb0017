// What runs once, integers, f64 and columns that are not next to each other stay
// with the runtime's own kernels.
// RUN: shard-opt %s --shardc-fuse-rows | FileCheck %s

// CHECK-NOT: rows_
rt.program @stage0 {
  %c = rt.constant dense<1.0> : tensor<64xf32> <dims = [64], sharding = [{}], local = [64]>
  %v = rt.view %c : <f32, [64], [1], 0>
  %k = rt.alloc <[256]> persistent
  %t = rt.view %k : <f32, [64], [1], 0>
  rt.call "Neg"(%v : !rt.view<f32, [64], [1], 0>) into(%t : !rt.view<f32, [64], [1], 0>) {}
  rt.ready
  %i = rt.input 0 "i" i64 <dims = [b, 64], sharding = [{}, {}], local = [b, 64]>
  %iv = rt.view %i : <i64, [b, 64], [64, 1], 0>
  %0 = rt.alloc <[b * 512]>
  %j = rt.view %0 : <i64, [b, 64], [64, 1], 0>
  rt.call "Add"(%iv, %iv : !rt.view<i64, [b, 64], [64, 1], 0>, !rt.view<i64, [b, 64], [64, 1], 0>) into(%j : !rt.view<i64, [b, 64], [64, 1], 0>) {}
  %d = rt.input 1 "d" f64 <dims = [b, 64], sharding = [{}, {}], local = [b, 64]>
  %dv = rt.view %d : <f64, [b, 64], [64, 1], 0>
  %1 = rt.alloc <[b * 512]>
  %e = rt.view %1 : <f64, [b, 64], [64, 1], 0>
  rt.call "Neg"(%dv : !rt.view<f64, [b, 64], [64, 1], 0>) into(%e : !rt.view<f64, [b, 64], [64, 1], 0>) {}
  %x = rt.input 2 "x" f32 <dims = [64, b], sharding = [{}, {}], local = [64, b]>
  %xv = rt.view %x : <f32, [b, 64], [1, b], 0>
  %2 = rt.alloc <[b * 256]>
  %y = rt.view %2 : <f32, [b, 64], [64, 1], 0>
  rt.call "Neg"(%xv : !rt.view<f32, [b, 64], [1, b], 0>) into(%y : !rt.view<f32, [b, 64], [64, 1], 0>) {}
  rt.output 0 "j" %j <dims = [b, 64], sharding = [{}, {}], local = [b, 64]> : !rt.view<i64, [b, 64], [64, 1], 0>
  rt.output 1 "e" %e <dims = [b, 64], sharding = [{}, {}], local = [b, 64]> : !rt.view<f64, [b, 64], [64, 1], 0>
  rt.output 2 "y" %y <dims = [b, 64], sharding = [{}, {}], local = [b, 64]> : !rt.view<f32, [b, 64], [64, 1], 0>
}
