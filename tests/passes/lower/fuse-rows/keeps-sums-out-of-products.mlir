// What a product does not do: add to a part of a sum, which a collective adds
// up first; the erf form of Gelu; rows for all of a batch; a product that
// somebody else reads.
// RUN: shard-opt %s --shardc-fuse-rows=target=cuda | FileCheck %s

!view = !rt.view<f32, [b, s, 64], [s * 64, 64, 1], 0, replicated>
!weight = !rt.view<f32, [b, 64, 64], [0, 64, 1], 0, replicated>
!rows = !rt.view<f32, [b, s, 64], [0, 64, 1], 0, replicated>

dist.mesh @mesh <["tp"=2]>

rt.program @stage0 {
  %weight = rt.weight "w" "m" at 0 length 16384 f32 <dims = [64, 64], sharding = [{}, {}], local = [64, 64]>
  %w = rt.view %weight : <f32, [b, 64, 64], [0, 64, 1], 0, replicated>
  rt.ready
  %in = rt.input 0 "x" f32 <dims = [b, s, 64], sharding = [{}, {}, {}], local = [b, s, 64]>
  %x = rt.view %in : <f32, [b, s, 64], [s * 64, 64, 1], 0, replicated>
  %table = rt.input 1 "t" f32 <dims = [s, 64], sharding = [{}, {}], local = [s, 64]>
  %t = rt.view %table : <f32, [b, s, 64], [0, 64, 1], 0, replicated>
  %0 = rt.alloc <[b * s * 256]>
  %p = rt.view %0 : <f32, [b, s, 64], [s * 64, 64, 1], 0, replicated>
  rt.call "MatMul"(%x, %w : !view, !weight) into(%p : !view) {}
  rt.collective "all_reduce" %p into %p over <["tp"=2]> {kind = "sum"} : !view -> !view
  %1 = rt.alloc <[b * s * 256]>
  %a = rt.view %1 : <f32, [b, s, 64], [s * 64, 64, 1], 0, replicated>
  rt.call "Add"(%p, %x : !view, !view) into(%a : !view) {}
  rt.free %0
  %2 = rt.alloc <[b * s * 256]>
  %q = rt.view %2 : <f32, [b, s, 64], [s * 64, 64, 1], 0, replicated>
  rt.call "MatMul"(%a, %w : !view, !weight) into(%q : !view) {}
  %3 = rt.alloc <[b * s * 256]>
  %g = rt.view %3 : <f32, [b, s, 64], [s * 64, 64, 1], 0, replicated>
  rt.call "Gelu"(%q : !view) into(%g : !view) {approximate = "none"}
  rt.free %2
  %4 = rt.alloc <[b * s * 256]>
  %r = rt.view %4 : <f32, [b, s, 64], [s * 64, 64, 1], 0, replicated>
  rt.call "MatMul"(%g, %w : !view, !weight) into(%r : !view) {}
  %5 = rt.alloc <[b * s * 256]>
  %m = rt.view %5 : <f32, [b, s, 64], [s * 64, 64, 1], 0, replicated>
  rt.call "Add"(%r, %t : !view, !rows) into(%m : !view) {}
  rt.free %4
  %6 = rt.alloc <[b * s * 256]>
  %u = rt.view %6 : <f32, [b, s, 64], [s * 64, 64, 1], 0, replicated>
  rt.call "MatMul"(%m, %w : !view, !weight) into(%u : !view) {}
  %7 = rt.alloc <[b * s * 256]>
  %y = rt.view %7 : <f32, [b, s, 64], [s * 64, 64, 1], 0, replicated>
  rt.call "Relu"(%u : !view) into(%y : !view) {}
  rt.output 0 "u" %u <dims = [b, s, 64], sharding = [{}, {}, {}], local = [b, s, 64]> : !view
  rt.output 1 "y" %y <dims = [b, s, 64], sharding = [{}, {}, {}], local = [b, s, 64]> : !view
}

// CHECK-LABEL: rt.program @stage0
// CHECK: rt.call "MatMul"
// CHECK: rt.collective "all_reduce"
// CHECK: rt.call "rows_Add_
// CHECK: rt.call "MatMul"
// CHECK: rt.call "rows_Gelu_
// CHECK: rt.call "MatMul"
// CHECK: rt.call "rows_Add_
// CHECK: rt.call "MatMul"
// CHECK: rt.call "rows_Relu_
