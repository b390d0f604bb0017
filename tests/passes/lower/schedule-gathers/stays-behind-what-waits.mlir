// Behind sizes that the host has to read nothing comes to stand before them.
// RUN: shard-opt %s --shardc-schedule-gathers | FileCheck %s

!p = !rt.view<f32, [4, 8], [8, 1], 0>
!w = !rt.view<f32, [8, 8], [8, 1], 0, replicated>
!x = !rt.view<f32, [2, 8], [8, 1], 0>
!n = !rt.view<i64, [1], [1], 0, replicated>

dist.mesh @mesh <["fsdp"=2]>
rt.program @stage0 {
  %0 = rt.weight "a" "model.bin" at 0 length 256 f32 <dims = [8, 8], sharding = [{"fsdp"=2}, {}], local = [4, 8]>
  %a = rt.view %0 : !p
  rt.ready
  %3 = rt.input 0 "x" f32 <dims = [4, 8], sharding = [{"fsdp"=2}, {}], local = [2, 8]>
  %x = rt.view %3 : !x
  %n0 = rt.input 1 "n" i64 <dims = [1], sharding = [{}], local = [1]>
  %n = rt.view %n0 : !n
  %4 = rt.alloc <[256]>
  %wa = rt.view %4 : !w
  rt.collective "all_gather" %a into %wa over <["fsdp"=2]> {dim = 0 : i64, dist.stored, value = #dist.value<dims = [8, 8], sharding = [{"fsdp"=2}, {}]>} : !p -> !w
  %5 = rt.alloc <[64]>
  %u = rt.view %5 : !x
  rt.call "MatMul"(%x, %wa : !x, !w) into(%u : !x) {}
  rt.free %4
  rt.read_sizes %n <[count]> : !n
  %6 = rt.alloc <[256]>
  %wb = rt.view %6 : !w
  rt.collective "all_gather" %a into %wb over <["fsdp"=2]> {dim = 0 : i64, dist.stored, value = #dist.value<dims = [8, 8], sharding = [{"fsdp"=2}, {}]>} : !p -> !w
  %7 = rt.alloc <[64]>
  %v = rt.view %7 : !x
  rt.call "MatMul"(%u, %wb : !x, !w) into(%v : !x) {}
  rt.free %5
  rt.free %6
  rt.output 0 "y" %v <dims = [4, 8], sharding = [{"fsdp"=2}, {}], local = [2, 8]> : !x
}

// CHECK: rt.collective
// CHECK: rt.call
// CHECK: rt.read_sizes
// CHECK: rt.collective
// CHECK: rt.call
