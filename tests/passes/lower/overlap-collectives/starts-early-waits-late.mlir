// Whole collectives run beside what they do not depend on: started right behind
// what makes their input, awaited before what reads their output.
// RUN: shard-opt %s --shardc-overlap-collectives=parts=1 --shardc-verify-phase="phase=lowered allows-unrecorded=true" | FileCheck %s
// RUN: shard-opt %s --shardc-overlap-collectives=target=cuda | FileCheck %s
// RUN: shard-opt %s --shardc-overlap-collectives=target=host | FileCheck %s --check-prefix=HOST
// RUN: shard-opt %s --shardc-overlap-collectives="target=cuda parts=off" | FileCheck %s --check-prefix=HOST

!x = !rt.view<f32, [64], [1], 0>
!y = !rt.view<f32, [64], [1], 0, replicated>

dist.mesh @mesh <["tp"=2]>
rt.program @stage0 {
  rt.ready
  %0 = rt.input 0 "x" f32 <dims = [128], sharding = [{"tp"=2}], local = [64]>
  %x = rt.view %0 : !x
  %1 = rt.alloc <[256]>
  %a = rt.view %1 : !x
  rt.call "Relu"(%x : !x) into(%a : !x) {}
  %2 = rt.alloc <[256]>
  %b = rt.view %2 : !x
  rt.call "Tanh"(%a : !x) into(%b : !x) {}
  %3 = rt.alloc <[256]>
  %s = rt.view %3 : !y
  rt.collective "all_reduce" %a into %s over <["tp"=2]> {kind = "sum"} : !x -> !y loc("sum")
  rt.free %1
  %4 = rt.alloc <[256]>
  %c = rt.view %4 : !x
  rt.call "Exp"(%b : !x) into(%c : !x) {}
  %5 = rt.alloc <[256]>
  %z = rt.view %5 : !x
  rt.call "Add"(%s, %c : !y, !x) into(%z : !x) {}
  rt.free %3
  rt.output 0 "z" %z <dims = [128], sharding = [{"tp"=2}], local = [64]> : !x
}

// CHECK: rt.call "Relu"({{.*}}) into(%[[A:.*]] : {{.*}})
// CHECK: rt.collective "all_reduce" %[[A]] into %[[S:.*]] over <["tp"=2]> {flight = 0 : i64, kind = "sum"}
// CHECK: rt.call "Tanh"
// CHECK: rt.call "Exp"
// CHECK: rt.wait 0 for %[[A]] into %[[S]] : {{.*}}
// CHECK-NEXT: rt.free
// CHECK: rt.call "Add"

// HOST: rt.call "Tanh"
// HOST: rt.collective "all_reduce" {{.*}} {kind = "sum"}
// HOST-NOT: rt.wait
