// What stays: weights that somebody else reads, results that leave the rank or
// that are seen across rows, one that all ranks have beside one that they do not,
// and weights whose rows end within a byte.
// RUN: shard-opt %s --shardc-merge-products | FileCheck %s --implicit-check-not=rt.join

!x = !rt.view<f32, [4, 8], [8, 1], 0>
!w = !rt.view<f32, [8, 8], [8, 1], 0>
!y = !rt.view<f32, [4, 8], [8, 1], 0>
!flat = !rt.view<f32, [32], [1], 0>

// CHECK-LABEL: rt.program @shared
// CHECK-COUNT-3: "MatMul"
rt.program @shared {
  %0 = rt.weight "a" "model.bin" at 0 length 256 f32 <dims = [8, 8], sharding = [{}, {}], local = [8, 8]>
  %a = rt.view %0 : !w
  %1 = rt.weight "b" "model.bin" at 256 length 256 f32 <dims = [8, 8], sharding = [{}, {}], local = [8, 8]>
  %b = rt.view %1 : !w
  rt.ready
  %2 = rt.input 0 "x" f32 <dims = [4, 8], sharding = [{}, {}], local = [4, 8]>
  %x = rt.view %2 : !x
  %3 = rt.alloc <[128]>
  %y = rt.view %3 : !y
  rt.call "MatMul"(%x, %a : !x, !w) into(%y : !y) {}
  %4 = rt.alloc <[128]>
  %z = rt.view %4 : !y
  rt.call "MatMul"(%x, %b : !x, !w) into(%z : !y) {}
  %5 = rt.alloc <[128]>
  %u = rt.view %5 : !y
  rt.call "MatMul"(%z, %a : !y, !w) into(%u : !y) {}
}

// CHECK-LABEL: rt.program @seen
// CHECK-COUNT-3: "MatMul"
rt.program @seen {
  %0 = rt.weight "a" "model.bin" at 0 length 256 f32 <dims = [8, 8], sharding = [{}, {}], local = [8, 8]>
  %a = rt.view %0 : !w
  %1 = rt.weight "b" "model.bin" at 256 length 256 f32 <dims = [8, 8], sharding = [{}, {}], local = [8, 8]>
  %b = rt.view %1 : !w
  %2 = rt.weight "c" "model.bin" at 512 length 256 f32 <dims = [8, 8], sharding = [{}, {}], local = [8, 8]>
  %c = rt.view %2 : !w
  rt.ready
  %3 = rt.input 0 "x" f32 <dims = [4, 8], sharding = [{}, {}], local = [4, 8]>
  %x = rt.view %3 : !x
  %4 = rt.alloc <[128]>
  %y = rt.view %4 : !y
  rt.call "MatMul"(%x, %a : !x, !w) into(%y : !y) {}
  %5 = rt.alloc <[128]>
  %z = rt.view %5 : !y
  rt.call "MatMul"(%x, %b : !x, !w) into(%z : !y) {}
  %all = rt.view %5 : !flat
  %6 = rt.alloc <[128]>
  %t = rt.view %6 : !flat
  rt.call "Relu"(%all : !flat) into(%t : !flat) {}
  %7 = rt.alloc <[128]>
  %u = rt.view %7 : !y
  rt.call "MatMul"(%x, %c : !x, !w) into(%u : !y) {}
  rt.output 0 "u" %u <dims = [4, 8], sharding = [{}, {}], local = [4, 8]> : !y
}

// CHECK-LABEL: rt.program @replicated
// CHECK-COUNT-2: "MatMul"
rt.program @replicated {
  %0 = rt.weight "a" "model.bin" at 0 length 512 f32 <dims = [8, 16], sharding = [{}, {"tp"=2}], local = [8, 8]>
  %a = rt.view %0 : !w
  %1 = rt.weight "b" "model.bin" at 512 length 256 f32 <dims = [8, 8], sharding = [{}, {}], local = [8, 8]>
  %b = rt.view %1 : !w
  rt.ready
  %2 = rt.input 0 "x" f32 <dims = [4, 8], sharding = [{}, {}], local = [4, 8]>
  %x = rt.view %2 : !x
  %3 = rt.alloc <[128]>
  %y = rt.view %3 : !y
  rt.call "MatMul"(%x, %a : !x, !w) into(%y : !y) {}
  %4 = rt.alloc <[128]>
  %z = rt.view %4 : !rt.view<f32, [4, 8], [8, 1], 0, replicated>
  rt.call "MatMul"(%x, %b : !x, !w) into(%z : !rt.view<f32, [4, 8], [8, 1], 0, replicated>) {}
}

!x8 = !rt.view<f32, [4, 8], [8, 1], 0>
!w4 = !rt.view<i4, [8, 3], [3, 1], 0>
!s4 = !rt.view<f32, [8, 3], [0, 0], 0>
!y3 = !rt.view<f32, [4, 3], [3, 1], 0>

// CHECK-LABEL: rt.program @odd
// CHECK-COUNT-2: "MatMulDequantized"
rt.program @odd {
  %0 = rt.weight "a" "model.bin" at 0 length 12 i4 <dims = [8, 3], sharding = [{}, {}], local = [8, 3]>
  %a = rt.view %0 : !w4
  %1 = rt.weight "b" "model.bin" at 12 length 12 i4 <dims = [8, 3], sharding = [{}, {}], local = [8, 3]>
  %b = rt.view %1 : !w4
  %2 = rt.constant dense<0.5> : tensor<f32> <dims = [], sharding = [], local = []>
  %s = rt.view %2 : !s4
  rt.ready
  %3 = rt.input 0 "x" f32 <dims = [4, 8], sharding = [{}, {}], local = [4, 8]>
  %x = rt.view %3 : !x8
  %4 = rt.alloc <[48]>
  %y = rt.view %4 : !y3
  rt.call "MatMulDequantized"(%x, %a, %s : !x8, !w4, !s4) into(%y : !y3) {}
  %5 = rt.alloc <[48]>
  %z = rt.view %5 : !y3
  rt.call "MatMulDequantized"(%x, %b, %s : !x8, !w4, !s4) into(%z : !y3) {}
}
