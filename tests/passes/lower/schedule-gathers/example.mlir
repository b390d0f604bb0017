// Products of three layers, whose weights two ranks share out. Each is gathered
// while the layer before runs: beside a product two weights are there, never three.
// RUN: shard-opt %s --shardc-schedule-gathers --shardc-verify-phase="phase=lowered allows-unrecorded=true" | FileCheck %s
//
// On a GPU it travels beside that layer's product; nothing starts it earlier.
// RUN: shard-opt %s --shardc-schedule-gathers --shardc-overlap-collectives=target=cuda --shardc-verify-phase="phase=lowered allows-unrecorded=true" | FileCheck %s --check-prefix=CUDA

!p = !rt.view<f32, [4, 8], [8, 1], 0>
!w = !rt.view<f32, [8, 8], [8, 1], 0, replicated>
!x = !rt.view<f32, [2, 8], [8, 1], 0>

dist.mesh @mesh <["fsdp"=2]>
rt.program @stage0 {
  %0 = rt.weight "a" "model.bin" at 0 length 256 f32 <dims = [8, 8], sharding = [{"fsdp"=2}, {}], local = [4, 8]>
  %a = rt.view %0 : !p
  %1 = rt.weight "b" "model.bin" at 256 length 256 f32 <dims = [8, 8], sharding = [{"fsdp"=2}, {}], local = [4, 8]>
  %b = rt.view %1 : !p
  %2 = rt.weight "c" "model.bin" at 512 length 256 f32 <dims = [8, 8], sharding = [{"fsdp"=2}, {}], local = [4, 8]>
  %c = rt.view %2 : !p
  rt.ready
  %3 = rt.input 0 "x" f32 <dims = [4, 8], sharding = [{"fsdp"=2}, {}], local = [2, 8]>
  %x = rt.view %3 : !x
  %4 = rt.alloc <[256]>
  %wa = rt.view %4 : !w
  rt.collective "all_gather" %a into %wa over <["fsdp"=2]> {dim = 0 : i64, dist.layer = 0 : i64, dist.stored, value = #dist.value<dims = [8, 8], sharding = [{"fsdp"=2}, {}]>} : !p -> !w loc("a")
  %5 = rt.alloc <[64]>
  %u = rt.view %5 : !x
  rt.call "MatMul"(%x, %wa : !x, !w) into(%u : !x) {} loc("a")
  rt.free %4
  %6 = rt.alloc <[256]>
  %wb = rt.view %6 : !w
  rt.collective "all_gather" %b into %wb over <["fsdp"=2]> {dim = 0 : i64, dist.layer = 1 : i64, dist.stored, value = #dist.value<dims = [8, 8], sharding = [{"fsdp"=2}, {}]>} : !p -> !w loc("b")
  %7 = rt.alloc <[64]>
  %v = rt.view %7 : !x
  rt.call "MatMul"(%u, %wb : !x, !w) into(%v : !x) {} loc("b")
  rt.free %5
  rt.free %6
  %8 = rt.alloc <[256]>
  %wc = rt.view %8 : !w
  rt.collective "all_gather" %c into %wc over <["fsdp"=2]> {dim = 0 : i64, dist.layer = 2 : i64, dist.stored, value = #dist.value<dims = [8, 8], sharding = [{"fsdp"=2}, {}]>} : !p -> !w loc("c")
  %9 = rt.alloc <[64]>
  %y = rt.view %9 : !x
  rt.call "MatMul"(%v, %wc : !x, !w) into(%y : !x) {} loc("c")
  rt.free %7
  rt.free %8
  rt.output 0 "y" %y <dims = [4, 8], sharding = [{"fsdp"=2}, {}], local = [2, 8]> : !x
}

// CHECK-LABEL: rt.program @stage0
// CHECK: rt.collective "all_gather" %{{.*}} into %[[A:.*]] over
// CHECK: rt.collective "all_gather" %{{.*}} into %[[B:.*]] over
// CHECK: rt.call "MatMul"(%{{.*}}, %[[A]] :
// CHECK: rt.free
// CHECK: rt.collective "all_gather" %{{.*}} into %[[C:.*]] over
// CHECK: rt.call "MatMul"(%{{.*}}, %[[B]] :
// CHECK: rt.call "MatMul"(%{{.*}}, %[[C]] :

// CUDA: rt.collective "all_gather" %{{.*}} into %[[A:.*]] over {{.*}}
// CUDA: rt.collective "all_gather" %{{.*}} into %[[B:.*]] over {{.*}}flight = 0
// CUDA: rt.call "MatMul"(%{{.*}}, %[[A]] :
// CUDA: rt.collective "all_gather" %{{.*}} into %[[C:.*]] over {{.*}}flight = 1
// CUDA: rt.wait 0 for {{.*}} into %[[B]]
// CUDA: rt.call "MatMul"(%{{.*}}, %[[B]] :
// CUDA: rt.wait 1 for {{.*}} into %[[C]]
// CUDA: rt.call "MatMul"(%{{.*}}, %[[C]] :
