// What something else reads before the sum stays in one buffer, hence in one part.
// RUN: shard-opt %s --shardc-overlap-collectives=parts=2 --shardc-verify-phase="phase=lowered allows-unrecorded=true" | FileCheck %s

!x = !rt.view<f32, [64, 16], [16, 1], 0>
!w = !rt.view<f32, [16, 16], [16, 1], 0>
!y = !rt.view<f32, [64, 16], [16, 1], 0, replicated>

dist.mesh @mesh <["tp"=2]>
rt.program @stage0 {
  %0 = rt.weight "w" "model.bin" at 0 length 2048 f32 <dims = [32, 16], sharding = [{"tp"=2}, {}], local = [16, 16]>
  %w = rt.view %0 : !w
  rt.ready
  %1 = rt.input 0 "x" f32 <dims = [64, 32], sharding = [{}, {"tp"=2}], local = [64, 16]>
  %x = rt.view %1 : !x
  %2 = rt.alloc <[4096]>
  %p = rt.view %2 : !x
  rt.call "MatMul"(%x, %w : !x, !w) into(%p : !x) {}
  %3 = rt.alloc <[4096]>
  %y = rt.view %3 : !y
  rt.collective "all_reduce" %p into %y over <["tp"=2]> {kind = "sum"} : !x -> !y
  %4 = rt.alloc <[4096]>
  %z = rt.view %4 : !x
  rt.call "Add"(%y, %p : !y, !x) into(%z : !x) {}
  rt.free %2
  rt.free %3
  rt.output 0 "z" %z <dims = [64, 32], sharding = [{}, {"tp"=2}], local = [64, 16]> : !x
}

// CHECK-COUNT-1: rt.call "MatMul"
// CHECK: rt.collective "all_reduce" {{.*}} {kind = "sum"}
// CHECK-NOT: rt.collective
