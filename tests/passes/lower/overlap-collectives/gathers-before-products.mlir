// Products behind an all_gather: the second part's rows come in beside the products
// with the first part's. Two products of one gather take the parts in turn.
// RUN: shard-opt %s --shardc-overlap-collectives=parts=2 --shardc-verify-phase="phase=lowered allows-unrecorded=true" | FileCheck %s

!x = !rt.view<f32, [b, s, 16], [s * 16, 16, 1], 0>
!g = !rt.view<f32, [b, s * 2, 16], [s * 32, 16, 1], 0, replicated>
!w = !rt.view<f32, [b, 16, 8], [0, 8, 1], 0>
!u = !rt.view<f32, [b, s * 2, 8], [s * 16, 8, 1], 0>

dist.mesh @mesh <["tp"=2]>
rt.program @stage0 {
  %0 = rt.weight "up" "model.bin" at 0 length 1024 f32 <dims = [16, 16], sharding = [{}, {"tp"=2}], local = [16, 8]>
  %up = rt.view %0 : !w
  rt.ready
  %1 = rt.input 0 "x" f32 <dims = [b, s * 2, 16], sharding = [{}, {"tp"=2}, {}], local = [b, s, 16]>
  %x = rt.view %1 : !x
  %2 = rt.alloc <[b * s * 128]>
  %g = rt.view %2 : !g
  rt.collective "all_gather" %x into %g over <["tp"=2]> {dim = 1 : i64, value = #dist.value<dims = [b, s * 2, 16], sharding = [{}, {"tp"=2}, {}]>} : !x -> !g loc("norm")
  %3 = rt.alloc <[b * s * 64]>
  %u = rt.view %3 : !u
  rt.call "MatMul"(%g, %up : !g, !w) into(%u : !u) {} loc("up")
  %4 = rt.alloc <[b * s * 64]>
  %v = rt.view %4 : !u
  rt.call "MatMul"(%g, %up : !g, !w) into(%v : !u) {} loc("gate")
  rt.free %2
  rt.output 0 "u" %u <dims = [b, s * 2, 16], sharding = [{}, {}, {"tp"=2}], local = [b, s * 2, 8]> : !u
  rt.output 1 "v" %v <dims = [b, s * 2, 16], sharding = [{}, {}, {"tp"=2}], local = [b, s * 2, 8]> : !u
}

// CHECK-LABEL: rt.program @stage0
// CHECK: rt.collective "all_gather" %[[X0:.*]] into %[[G0:.*]] over <["tp"=2]> {dim = 1 : i64, value = {{.*}}}
// CHECK: rt.collective "all_gather" %[[X1:.*]] into %[[G1:.*]] over <["tp"=2]> {dim = 1 : i64, flight = 0 : i64, value = {{.*}}}
// CHECK-COUNT-2: rt.call "MatMul"
// CHECK: rt.wait 0 for %[[X1]] into %[[G1]]
// CHECK-COUNT-2: rt.call "MatMul"
// CHECK-NOT: rt.call
